"""An incident when its target is healthy, gone or released."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from health.model.details import Details
from health.model.moves import (
    LONGEST_WAIT,
    AnnotateRequests,
    AnnotationPatch,
    End,
    Move,
    Outcome,
    Phase,
    RemoveRequests,
    RenewLease,
)
from health.model.observation import Observation, TargetState
from health.model.remediation_request import EVER, GREW_OLD, GREW_OLD_FLAG, HEALTHY_DELAY
from health.model.request_snapshot import RequestSnapshot
from health.runbook.deadlines import OLD
from health.runbook.decide import next_move
from health.runbook.memory_parts import LeaseMemory, LeaseState
from health.runbook.state import Memory
from objects.timestamps import stamp
from tests.support.values.builders import MINUTE, NOW, request, request_snapshot, seen
from tests.support.values.memories import Timed, because, standing, timed, with_lease

LATER = NOW + 10 * MINUTE
ACTED = Memory(
    requests=(request(),),
    has_acted=True,
    lease=LeaseMemory(state=LeaseState.HELD, acquired_at=NOW, renew_at=LATER),
)
ALONE = replace(ACTED, standing=standing("abort", "maintenance"))
GIVEN_BACK = ACTED.after_release()
RECOVERED_NOW = request_snapshot(healthy_since=NOW)
EXPECTS = request_snapshot(is_node_deletion_expected=True)


def healthy(*requests: RequestSnapshot, delay: float = 0, is_confirmed: bool = False) -> Observation:
    return without_steps(*requests, healthy_delay_seconds=delay, is_confirmed=is_confirmed)


def without_steps(
    *requests: RequestSnapshot, state: TargetState = TargetState.HEALTHY, **fields: Any
) -> Observation:
    return seen(*requests, state=state, steps=(), reason="it is so", **fields)


def kept(words: str, seconds: float) -> Timed:
    return Timed(Phase.HEALTHY_DELAY, f"it is so; {words}", seconds)


DELAY = "healthyDelay of 2m"
FOR_GOOD = "healthyDelay is negative: kept until a person confirms that it is healthy"


def stamped(annotations: dict[str, str | None]) -> tuple[AnnotationPatch, ...]:
    return (AnnotationPatch(request=request(), annotations=annotations),)


@pytest.mark.rule(
    "NHC 2.6/none",
    "NHC 2.6/negative",
    "NHC 2.6/positive",
    "NHC 2.6/edited",
    "NHC 2.6/unreadable",
    "NHC 2.6/confirmed",
    "NHC 2.1/12",
    "NHC 2.1/12/PermanentNodeDeletionExpected",
    "rule 10",
    "rule 11/recreated",
    "rule 40",
)
@pytest.mark.parametrize(
    ("observation", "memory", "move"),
    [
        pytest.param(healthy(request_snapshot()), ACTED, RemoveRequests(because("it is so")), id="no delay"),
        pytest.param(
            healthy(request_snapshot(), delay=120),
            ACTED,
            AnnotateRequests(
                stamped({HEALTHY_DELAY: stamp(NOW)}),
                Phase.HEALTHY_DELAY,
                Details(reason="it is so", more=(DELAY,)),
            ),
            id="delay begins",
        ),
        pytest.param(healthy(RECOVERED_NOW, delay=120), ACTED, kept(DELAY, 120), id="delay runs"),
        pytest.param(
            healthy(request_snapshot(healthy_since=NOW - 2 * MINUTE), delay=120),
            ACTED,
            RemoveRequests(because("it is so")),
            id="delay is over",
        ),
        pytest.param(
            healthy(request_snapshot(healthy_since=EVER), delay=120),
            ACTED,
            RemoveRequests(because("it is so")),
            id="unreadable",
        ),
        pytest.param(
            healthy(RECOVERED_NOW, request_snapshot("2", healthy_since=NOW - MINUTE), delay=120),
            ACTED,
            kept(DELAY, 120),
            id="the latest delay counts",
        ),
        pytest.param(
            healthy(RECOVERED_NOW, delay=1200),
            ACTED,
            kept("healthyDelay of 20m", 600),
            id="a delay longer than the Lease",
        ),
        pytest.param(
            healthy(RECOVERED_NOW, delay=1200),
            with_lease(ACTED, renew_at=NOW),
            RenewLease(Phase.HEALTHY_DELAY, Details(reason="it is so", more=("healthyDelay of 20m",))),
            id="the Lease is due meanwhile",
        ),
        pytest.param(
            healthy(RECOVERED_NOW, delay=1200),
            with_lease(GIVEN_BACK, renew_at=NOW - MINUTE),
            kept("healthyDelay of 20m", 1200),
            id="the Lease was given back: nothing is renewed, and nothing spins",
        ),
        pytest.param(
            healthy(request_snapshot(), delay=-1), ACTED, kept(FOR_GOOD, 600), id="negative: no stamp"
        ),
        pytest.param(
            healthy(request_snapshot(), delay=-1),
            GIVEN_BACK,
            kept(FOR_GOOD, OLD.total_seconds()),
            id="negative, without a Lease: it wakes to flag the request",
        ),
        pytest.param(
            healthy(request_snapshot(is_flagged_as_old=True), delay=-1),
            GIVEN_BACK,
            kept(FOR_GOOD, LONGEST_WAIT.total_seconds()),
            id="negative, without a Lease, and flagged",
        ),
        pytest.param(
            healthy(request_snapshot(), delay=-1, is_confirmed=True),
            ACTED,
            RemoveRequests(because("it is so")),
            id="negative, and confirmed",
        ),
        pytest.param(
            healthy(RECOVERED_NOW, delay=120, is_confirmed=True),
            ACTED,
            RemoveRequests(because("it is so")),
            id="confirmed",
        ),
        pytest.param(
            healthy(request_snapshot(created=NOW - OLD), delay=-1),
            ACTED,
            AnnotateRequests(
                stamped({GREW_OLD: GREW_OLD_FLAG}),
                Phase.HEALTHY_DELAY,
                Details(reason="it is so", more=(FOR_GOOD,)),
            ),
            id="kept for two days",
        ),
        pytest.param(
            healthy(request_snapshot(is_being_deleted=True), delay=120),
            ACTED,
            RemoveRequests(because("it is so")),
            id="somebody deletes the request",
        ),
        pytest.param(
            healthy(RECOVERED_NOW, delay=120), ALONE, RemoveRequests(because("it is so")), id="left alone"
        ),
        pytest.param(
            without_steps(RECOVERED_NOW, state=TargetState.RELEASED, healthy_delay_seconds=120),
            ACTED,
            RemoveRequests(because("it is so")),
            id="released: no delay",
        ),
        pytest.param(
            without_steps(RECOVERED_NOW, state=TargetState.GONE, healthy_delay_seconds=120),
            ACTED,
            RemoveRequests(because("it is so")),
            id="gone: no delay",
        ),
        pytest.param(
            without_steps(EXPECTS, state=TargetState.GONE),
            ACTED,
            Timed(
                Phase.REMEDIATING,
                "it is so; its remediator expects that, and is not done yet",
                timedelta(days=7).total_seconds(),
            ),
            id="gone, as its remediator expects",
        ),
        pytest.param(
            without_steps(EXPECTS.model_copy(update={"succeeded": True}), state=TargetState.GONE),
            ACTED,
            RemoveRequests(because("it is so")),
            id="gone, and its remediator is done",
        ),
        pytest.param(
            without_steps(EXPECTS.model_copy(update={"succeeded": False}), state=TargetState.GONE),
            ACTED,
            Timed(
                Phase.REMEDIATING,
                "it is so; its remediator expects that, and is not done yet",
                timedelta(days=7).total_seconds(),
            ),
            id="gone, and its remediator failed",
        ),
        pytest.param(
            without_steps(EXPECTS, state=TargetState.GONE, is_replaced=True),
            ACTED,
            RemoveRequests(because("it is so")),
            id="gone, as its remediator expects, and another of its name is there",
        ),
        pytest.param(
            without_steps(
                EXPECTS.model_copy(update={"is_being_deleted": True}),
                state=TargetState.GONE,
                is_replaced=True,
            ),
            ACTED,
            RemoveRequests(because("it is so")),
            id="the same, and a finalizer keeps its request",
        ),
        pytest.param(
            without_steps(EXPECTS, state=TargetState.GONE, is_replaced=True, healthy_delay_seconds=-1),
            ACTED,
            RemoveRequests(because("it is so")),
            id="another of its name is there: no delay, the one that went never recovered",
        ),
        pytest.param(
            without_steps(EXPECTS, state=TargetState.GONE),
            ALONE,
            RemoveRequests(because("it is so")),
            id="gone, alone",
        ),
        pytest.param(
            without_steps(EXPECTS, state=TargetState.RELEASED),
            ACTED,
            RemoveRequests(because("it is so")),
            id="released, not gone",
        ),
        pytest.param(healthy(EXPECTS), ACTED, RemoveRequests(because("it is so")), id="healthy, not gone"),
        pytest.param(
            healthy(is_confirmed=True),
            Memory(),
            RemoveRequests(because("it is so")),
            id="confirmed, and nothing was done",
        ),
        pytest.param(healthy(), Memory(), End(Outcome.RECOVERED, because("it is so")), id="nothing to do"),
        pytest.param(
            healthy(delay=120),
            Memory(has_acted=True),
            End(Outcome.REMEDIATED, because("it is so")),
            id="somebody deleted the kept request, and it was cleaned up",
        ),
    ],
)
def test_move(observation: Observation, memory: Memory, move: Move) -> None:
    assert timed(next_move(observation, memory, NOW)) == move
