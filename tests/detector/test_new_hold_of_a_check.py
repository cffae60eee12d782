"""A row that a test adds to the table of holds is answered, reported and measured in every kind of check.

Nothing else is added: this is the whole diff of a new hold of a check, besides its reason and its source.
"""

import asyncio
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from detector.answers.storms import Storms
from detector.metrics.live_metrics import ObservedPhase, observed_hold, observed_phase
from detector.reporting.snapshot_builder import SnapshotBuilder
from health.check.check_snapshot import CheckSnapshot, HoldReport
from health.gate.back_off import NO_BACK_OFF
from health.gate.check_holds import CHECK_HOLDS, CheckHoldRow, CheckMoment
from health.kinds.clusterapi.kind import CLUSTER_API_MACHINE_HEALTH_CHECK as CLUSTER_API
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.model.observation import Hold, HoldReason, Observation
from objects.event import Event, Severity
from objects.timestamps import stamp
from tests.support.state.kinds import SMALL_STATES
from tests.support.state.small_cluster import CHECK, SmallCluster
from tests.support.state.small_state import LONG_AGO, SmallState
from tests.support.values.builders import NOW
from tests.support.values.cluster_api import merged

REASON = HoldReason.OTHER_VERSION
"""Stands for the new value of the enum, which a test cannot add."""
ENDS = NOW + timedelta(minutes=10)
WORDS = "the moon is full"


def full_moon(moment: CheckMoment) -> Hold | None:
    return Hold(reason=REASON, message=WORDS) if moment.now < ENDS else None


ROW = CheckHoldRow((REASON,), full_moon)
BRIEF = replace(ROW, report=HoldReport(event=None, is_brief=True, prevents_storms=False))


class World:
    """One unhealthy target of one kind of check, in a state with one more row."""

    def __init__(self, small: SmallState) -> None:
        self.small, self.kind = small, small.kind
        small.check(**small.without_threshold)
        small.unhealthy("a")

    def observation(self) -> Observation:
        return self.small.observe("a")

    def snapshot(self) -> CheckSnapshot:
        builder = SnapshotBuilder(self.small.cluster_state, lambda *_: NO_BACK_OFF)
        found = builder.of(self.small.named(), None, self.small.now)
        assert found is not None
        return found

    def status(self) -> Any:
        return merged({}, self.kind.status_patch(self.snapshot(), {}, self.small.now))

    def events(self, before: CheckSnapshot | None) -> list[Event]:
        """The Events besides the first Event of a NodeHealthCheck."""
        stored = {} if before is None else self.status()
        found = self.kind.events(before, self.snapshot(), stored, self.small.now)
        return [event for event in found if event.reason != "Enabled"]


ALL = pytest.mark.parametrize("kind", SMALL_STATES)


def world_of(kind: type[SmallState], row: CheckHoldRow) -> World:
    return World(kind(check_hold_rows=(*CHECK_HOLDS, row)))


@ALL
def test_incident_is_answered_with_the_hold_until_it_ends(kind: type[SmallState]) -> None:
    world = world_of(kind, ROW)
    assert world.observation().hold == Hold(reason=REASON, message=WORDS)
    world.small.now = ENDS
    assert world.observation().hold is None


@ALL
def test_metrics_count_its_incidents_under_its_reason(kind: type[SmallState]) -> None:
    observation = world_of(kind, ROW).observation()
    assert observed_phase(observation, NOW) is ObservedPhase.HELD
    assert observed_hold(observation, NOW) == REASON


@ALL
def test_status_names_it_until_it_ends(kind: type[SmallState]) -> None:
    world = world_of(kind, ROW)
    assert shown(world) == (REASON, WORDS)
    world.small.now = ENDS
    assert shown(world) is None


def shown(world: World) -> tuple[str, str] | None:
    """Reason and words of the hold, as the API of the check has them."""
    status = world.status()
    if world.kind is NODE_HEALTH_CHECK:
        _, _, hold = status["reason"].partition(f"; no new remediation is begun since {stamp(NOW)}: ")
        reason, _, words = hold.partition(": ")
        return (reason, words) if hold else None
    condition = next(one for one in status["conditions"] if one["type"] == "RemediationAllowed")
    return None if condition["status"] == "True" else (condition["reason"], condition["message"])


@ALL
def test_check_has_one_event_and_its_targets_have_theirs_after_it(kind: type[SmallState]) -> None:
    world = world_of(kind, ROW)
    (event,) = world.events(None)
    assert event.severity is Severity.WARNING
    assert event.reason in {"RemediationRestricted", "RemediationSkipped"}
    assert event.message.endswith(WORDS)

    before = world.snapshot()
    assert world.events(before) == []
    world.small.now = ENDS
    assert [one.reason for one in world.events(before)] == of_target(world)


@ALL
def test_brief_hold_has_no_event_and_leaves_the_targets_theirs(kind: type[SmallState]) -> None:
    world = world_of(kind, BRIEF)
    assert shown(world) == (REASON, WORDS)
    assert [event.reason for event in world.events(None)] == of_target(world)


def of_target(world: World) -> list[str]:
    """The reasons of the Events of an unhealthy target."""
    return ["MachineMarkedUnhealthy" if world.kind is CLUSTER_API else "DetectedUnhealthy"]


@pytest.mark.parametrize(("row", "may_begin"), [(ROW, False), (BRIEF, True)], ids=["row", "brief row"])
async def test_storm_begins_only_if_the_row_does_not_prevent_it(
    row: CheckHoldRow, *, may_begin: bool
) -> None:
    small = SmallCluster(check_hold_rows=(*CHECK_HOLDS, row))
    small.check(minHealthy=1, stormCooldownDuration="5m")
    storms = Storms(small.cluster_state, lambda _: True, lambda: NOW)
    leading = asyncio.create_task(storms.lead())
    await asyncio.sleep(0)
    small.node("a", ready="Unknown", since=LONG_AGO)
    storms.advance(CHECK)
    assert (storms.of(CHECK) is not None) is may_begin
    leading.cancel()
    with suppress(asyncio.CancelledError):
        await leading
