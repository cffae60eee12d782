"""Measures 5,000 questions that are all admitted, with limits and without, and the longest stop.

The longest stop is also measured while 5,000 targets wait in the queue and become due at the same moment.

Other programs share the machine, so both leaders answer in turn, a few questions each, and the ratio is the
median of several such runs. Garbage that is older than a run is not examined, as in our processes.
"""

import asyncio
import gc
import time
from datetime import timedelta
from statistics import median

from bench.cluster import BenchCluster
from bench.figure import LONGEST_STOP_MILLISECONDS, Goal, longest_stop, scenario
from bench.simulated_leader import ASKED, CHECK, DURATION, NAMES, TARGETS, SimulatedLeader
from health.model.node import ZONE_LABEL
from health.model.references import IncidentReference, TargetReference
from health.policy.limits import NO_LIMITS, Limits
from health.policy.policy import Policy
from workflows.contracts import ObserveInput

_RUNS = 5
_IN_TURN = 50
"""Questions that one leader answers before it is the turn of the other."""
_ALL_LIMITS = Limits.model_validate(
    {
        "maxInFlight": 2 * TARGETS,
        "maxInFlightByLabel": {ZONE_LABEL: TARGETS},
        "maxStartsPerHour": 2 * TARGETS,
    }
)


def _answer(leader: SimulatedLeader, questions: list[str], *, is_due: bool = True) -> tuple[float, float]:
    """Answer as the activity `observe` does, with what it decodes and encodes.

    Seconds of CPU, and the seconds of the longest answer.
    """
    began, longest = time.process_time(), 0.0
    for question in questions:
        started = time.perf_counter()
        request = ObserveInput.model_validate_json(question)
        observation = leader.observer.observe(request.incident)
        answer = leader.limits.answered(request.incident, observation, request.intent)
        if answer.is_admitted != is_due:
            raise RuntimeError(f"{request.incident.target}: {answer.hold}")
        answer.model_dump_json()
        longest = max(longest, time.perf_counter() - started)
    return time.process_time() - began, longest


def _questions() -> list[str]:
    targets = (TargetReference(kind="Node", name=name, uid=f"uid-{name}") for name in NAMES)
    incidents = (IncidentReference(cluster="bench", check=CHECK, target=target) for target in targets)
    return [ObserveInput(incident=incident).model_dump_json() for incident in incidents]


def _answers_in_turn() -> tuple[float, float]:
    """The CPU of all answers with limits as a ratio to that without, and the longest answer with limits."""
    questions, failed = _questions(), ASKED - 2 * DURATION
    free, limited = (SimulatedLeader(Policy(limits=limits), failed) for limits in (NO_LIMITS, _ALL_LIMITS))
    cpu_of_free = cpu_of_limited = longest = 0.0
    gc.collect()
    gc.freeze()
    try:
        for first in range(0, TARGETS, _IN_TURN):
            some = questions[first : first + _IN_TURN]
            cpu_of_free += _answer(free, some)[0]
            cpu, slowest = _answer(limited, some)
            cpu_of_limited, longest = cpu_of_limited + cpu, max(longest, slowest)
    finally:
        gc.unfreeze()
    return cpu_of_limited / cpu_of_free, longest


def _longest_stop_of_turns() -> float:
    """The longest time between two notifications, after all incidents asked before their deadline."""
    leader = SimulatedLeader(Policy(limits=_ALL_LIMITS), ASKED - DURATION / 2)
    _answer(leader, _questions(), is_due=False)
    leader.set_clock(ASKED + DURATION / 2 + timedelta(seconds=1))
    began, longest, notified = time.perf_counter(), 0.0, 0
    for _ in leader.limits.turns():
        notified += 1
        longest, began = max(longest, time.perf_counter() - began), time.perf_counter()
    if notified != TARGETS:
        raise RuntimeError(f"{notified} of {TARGETS} incidents were notified")
    return longest


def _measure() -> list[float]:
    ratios, longest = zip(*(_answers_in_turn() for _ in range(_RUNS)), strict=True)
    longest_of_turns = max(_longest_stop_of_turns() for _ in range(_RUNS))
    return [median(ratios), 1000 * max(longest), 1000 * longest_of_turns]


@scenario(
    "bounds",
    (
        Goal("CPU of 5,000 questions with limits, median of the ratios to those without", 1.2),
        Goal("longest answer with limits", LONGEST_STOP_MILLISECONDS, "ms"),
        longest_stop("5,000 waiting targets become due"),
    ),
)
async def limits(_: BenchCluster) -> list[float]:
    return await asyncio.to_thread(_measure)
