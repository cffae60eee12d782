"""Measures 5,000 questions that are all admitted, with limits and without, and the longest stop.

The longest stop is also measured while 5,000 targets wait in the queue and become due at the same moment.

Other programs share the machine, so both leaders answer in turn, a few questions each, and the ratio is the
median of several such runs. Garbage that is older than a run is not examined, as in our processes.
"""

import gc
import time
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import NamedTuple

from bench.figure import LONGEST_STOP_MILLISECONDS, Figure, longest_stop
from bench.workers import CHECK, DURATION, KIND, check_object, unknown_node
from detector.answers.observation_builder import Observer
from detector.answers.storms import Storms
from detector.context.sources_of_checks import CheckFreshness
from detector.limits.remediation_limits import RemediationLimits
from detector.state.check_state import CheckRecord
from detector.state.cluster_state import ClusterState
from health.gate.back_off import NO_BACK_OFF
from health.model.node import ZONE_LABEL, Node
from health.model.references import IncidentReference, TargetReference
from health.model.target import TargetName
from health.policy.limits import NO_LIMITS, Limits
from health.policy.policy import Policy
from workflows.contracts import ObserveInput

QUESTIONS = 5_000
MOST_RATIO = 1.2
_RUNS = 5
_IN_TURN = 50
"""Questions that one leader answers before it is the turn of the other."""
_BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
_ASKED = _BEGAN + timedelta(hours=1)
_ALL_LIMITS = Limits.model_validate(
    {
        "maxInFlight": 2 * QUESTIONS,
        "maxInFlightByLabel": {ZONE_LABEL: QUESTIONS},
        "maxStartsPerHour": 2 * QUESTIONS,
    }
)


class _Leader:
    """A detector that has led for an hour, over Nodes that all failed at one moment."""

    def __init__(self, limits: Limits, failed: datetime) -> None:
        self._state = ClusterState("bench")
        self._now, self._due = _BEGAN, failed + DURATION + timedelta(seconds=1)
        self._state.check_changed(KIND, CHECK, CheckRecord.model_validate(check_object(_BEGAN)))
        for number in range(QUESTIONS):
            node = _node(number, failed)
            self._state.target_changed(TargetName("Node", "", node.metadata.name), node)
        policy = Policy(limits=limits)
        self.limits = RemediationLimits(self._state, lambda: policy, lambda *_: False, lambda: self._now)
        self.limits.complete()
        self._now = _ASKED
        self._observer = Observer(
            cluster_state=self._state,
            freshness=lambda _: CheckFreshness(),
            storms=Storms(self._state, lambda _: True, lambda: self._now),
            back_off=lambda *_: NO_BACK_OFF,
            limits=self.limits,
            now=lambda: self._now,
        )

    def answer(self, question: str) -> str:
        """Answer as the activity `observe` does, with what it decodes and encodes."""
        request = ObserveInput.model_validate_json(question)
        answer = self.limits.answered(
            request.incident, self._observer.observe(request.incident), request.intent
        )
        if self._now >= self._due and not answer.is_admitted:
            raise RuntimeError(f"{request.incident.target} is not admitted: {answer.hold}")
        return answer.model_dump_json()

    def become_due(self) -> None:
        self._now = self._due


def _node(number: int, failed: datetime) -> Node:
    labels = {ZONE_LABEL: f"zone-{number % 3}"}
    return Node.model_validate(unknown_node(f"node-{number}", _BEGAN - timedelta(days=1), failed, labels))


def _question(number: int) -> str:
    target = TargetReference(kind="Node", name=f"node-{number}", uid=f"uid-node-{number}")
    incident = IncidentReference(cluster="bench", check=CHECK, target=target)
    return ObserveInput(incident=incident).model_dump_json()


class _Cost(NamedTuple):
    """The cost of all questions in one run, in seconds of CPU."""

    without: float
    limited: float
    longest: float
    """The longest answer with limits, in seconds."""

    @property
    def ratio(self) -> float:
        return self.limited / self.without


def measure_limits() -> list[Figure]:
    costs = [_cost() for _ in range(_RUNS)]
    longest_of_turns = max(_longest_stop_of_turns() for _ in range(_RUNS))
    return [
        Figure("CPU of 5,000 questions without limits", min(cost.without for cost in costs), unit="s"),
        Figure("CPU of 5,000 questions with limits", min(cost.limited for cost in costs), unit="s"),
        Figure("median of the ratios of the two", median(cost.ratio for cost in costs), goal=MOST_RATIO),
        Figure(
            "longest answer with limits",
            max(cost.longest for cost in costs) * 1000,
            unit="ms",
            goal=LONGEST_STOP_MILLISECONDS,
        ),
        longest_stop("5,000 waiting targets become due", longest_of_turns),
    ]


def _cost() -> _Cost:
    questions = [_question(number) for number in range(QUESTIONS)]
    free, limited = (_Leader(limits, _ASKED - 2 * DURATION) for limits in (NO_LIMITS, _ALL_LIMITS))
    gc.collect()
    gc.freeze()
    try:
        return _in_turn(free, limited, questions)
    finally:
        gc.unfreeze()


def _in_turn(free: _Leader, limited: _Leader, questions: list[str]) -> _Cost:
    without = with_limits = longest = 0.0
    for first in range(0, QUESTIONS, _IN_TURN):
        some = questions[first : first + _IN_TURN]
        without += _cpu_of(free, some)[0]
        cpu, slowest = _cpu_of(limited, some)
        with_limits, longest = with_limits + cpu, max(longest, slowest)
    return _Cost(without, with_limits, longest)


def _cpu_of(leader: _Leader, questions: list[str]) -> tuple[float, float]:
    """Seconds of CPU of these questions, and the seconds of the longest answer."""
    began, longest = time.process_time(), 0.0
    for question in questions:
        started = time.perf_counter()
        leader.answer(question)
        longest = max(longest, time.perf_counter() - started)
    return time.process_time() - began, longest


def _longest_stop_of_turns() -> float:
    """The longest time between two notifications, after all incidents asked before their deadline."""
    leader = _Leader(_ALL_LIMITS, _ASKED - DURATION / 2)
    for number in range(QUESTIONS):
        leader.answer(_question(number))
    leader.become_due()
    began, longest, notified = time.perf_counter(), 0.0, 0
    for _ in leader.limits.turns():
        notified += 1
        longest, began = max(longest, time.perf_counter() - began), time.perf_counter()
    if notified != QUESTIONS:
        raise RuntimeError(f"{notified} of {QUESTIONS} incidents were notified")
    return longest
