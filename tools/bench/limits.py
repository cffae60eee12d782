"""Measures 5,000 questions that are all admitted, with limits and without, and the longest stop.

The longest stop is also measured while 5,000 targets wait in the queue and become due at the same moment.
"""

import time
from datetime import UTC, datetime, timedelta

from bench.figure import LONGEST_STOP_MILLISECONDS, Figure, longest_stop
from bench.workers import CHECK, DURATION, KIND, check_object, unknown_node
from detector.answers.observation_builder import Observer
from detector.answers.storms import Storms
from detector.context.check_freshness import CheckFreshness
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
_RUNS = 3
"""The least sum counts, because other programs share the machine; of the stops the longest counts."""
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
            freshness=lambda _: CheckFreshness(age=timedelta(), limit=timedelta(seconds=30)),
            storms=Storms(self._state, lambda _: True, lambda: self._now),
            back_off=lambda *_: NO_BACK_OFF,
            clock_hold=lambda: None,
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


def measure_limits() -> list[Figure]:
    failed = _ASKED - 2 * DURATION
    costs = [(_cost(_Leader(NO_LIMITS, failed)), _cost(_Leader(_ALL_LIMITS, failed))) for _ in range(_RUNS)]
    without = min(seconds for (seconds, _), _ in costs)
    with_limits = min(seconds for _, (seconds, _) in costs)
    longest = max(stop for _, (_, stop) in costs)
    longest_of_turns = max(_longest_stop_of_turns() for _ in range(_RUNS))
    return [
        Figure(name="CPU of 5,000 questions without limits", measured=without, goal=None, unit="s"),
        Figure(name="CPU of 5,000 questions with limits", measured=with_limits, goal=None, unit="s"),
        Figure(name="the same, ratio", measured=with_limits / without, goal=MOST_RATIO, unit=""),
        Figure(
            name="longest answer with limits",
            measured=longest * 1000,
            goal=LONGEST_STOP_MILLISECONDS,
            unit="ms",
        ),
        longest_stop("5,000 waiting targets become due", longest_of_turns),
    ]


def _cost(leader: _Leader) -> tuple[float, float]:
    """Seconds of CPU of all questions, and the seconds of the longest answer."""
    questions = [_question(number) for number in range(QUESTIONS)]
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
