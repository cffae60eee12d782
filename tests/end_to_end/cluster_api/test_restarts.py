"""Processes die between a mark and the following step: no second mark is written and no deadline moves."""

from datetime import UTC, datetime, timedelta

import pytest

from devcluster.control_plane import ControlPlane
from tests.end_to_end.cluster_api.fleet import OWNER, Fleet
from tests.support.story.audit import WORKER, writes
from tests.support.story.paramedic import Paramedic
from workflows.messages import State

pytestmark = pytest.mark.cluster

TIMEOUT = timedelta(seconds=12)
SLOW = {"type": "Ready", "status": "Unknown", "timeoutSeconds": TIMEOUT.seconds}
ROUNDING = timedelta(seconds=2)


@pytest.mark.rule("rule 1", "rule 29", "rule 33/restart", "rule 33/first")
@pytest.mark.rule("CAPI B.2.5/each", "CAPI B.2.5/mark again")
async def test_deadline_and_mark_stay_when_either_process_dies_meanwhile(
    fleet: Fleet, paramedic: Paramedic, control_plane: ControlPlane
) -> None:
    marked, waits = await fleet.add("marked", "waits")
    check = await fleet.add_check(checks={"unhealthyNodeConditions": [SLOW]})
    await check.until_numbers(2, 2, 2)
    failed = datetime.now(UTC).replace(microsecond=0)
    await fleet.nodes.set_ready(marked, "Unknown", failed - TIMEOUT)
    await fleet.nodes.set_ready(waits, "Unknown", failed)
    await fleet.until_marked(marked)
    await paramedic.worker.kill()
    await paramedic.detector.kill()
    asked = await fleet.condition(marked, OWNER)
    await paramedic.start()

    words = f"{marked} is marked for its owner: WaitingForRemediation"
    await fleet.until_state(marked, lambda state: words in state.details)
    state = await fleet.until_state(waits, _was_asked_anew)
    assert state.phase != "Waiting" or _is_about(state.wakes_at, failed + TIMEOUT)
    await fleet.until_marked(waits)
    since = datetime.fromisoformat((await fleet.condition(waits, OWNER))["lastTransitionTime"])
    assert since >= failed + TIMEOUT
    assert await fleet.condition(marked, OWNER) == asked
    marks = [what for who, _, what, _ in writes(control_plane.audit_log, fleet.namespace) if who == WORKER]
    assert marks.count(f"machines/{marked}/status") == 1
    assert marks.count(f"machines/{waits}/status") == 1
    await fleet.delete(marked)
    assert await fleet.outcome(marked) == "Remediated"


def _was_asked_anew(state: State) -> bool:
    """True while the incident waits for its deadline again; on a busy machine the deadline may be over."""
    return state.wakes_at is not None or state.phase != "Waiting"


def _is_about(time: datetime | None, expected: datetime) -> bool:
    return time is not None and abs(time - expected) <= ROUNDING
