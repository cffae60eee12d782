"""A row that a test adds to the table of holds is answered, reported and measured in every kind of check.

Nothing else is added: this is the whole diff of a new hold of a check, besides its reason and its source.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from detector.answers.observation_builder import ObservationBuilder
from detector.answers.storms import Storms
from detector.context.check_freshness import CheckFreshness
from detector.metrics.observed_phase import ObservedPhase, observed_hold, observed_phase
from detector.reporting.snapshot_builder import SnapshotBuilder
from detector.state.cluster_state import ClusterState
from health.check.check_hold import HoldReport
from health.check.check_snapshot import CheckSnapshot
from health.gate.back_off import NO_BACK_OFF
from health.gate.check_holds import CHECK_HOLDS, CheckHoldRow, CheckMoment
from health.kinds.clusterapi.kind import CLUSTER_API_MACHINE_HEALTH_CHECK as CLUSTER_API
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK as OPENSHIFT
from health.model.observation import Hold, HoldReason, Observation
from health.model.references import CheckReference, IncidentReference, TargetReference
from objects.event import Event, Severity
from tests.detector import small_cluster, small_machines
from tests.detector.clusterapi import small_cluster_api
from tests.detector.clusterapi.small_cluster_api import SmallClusterApi
from tests.detector.small_cluster import SmallCluster
from tests.detector.small_machines import SmallMachines
from tests.support.values.builders import NOW
from tests.support.values.cluster_api import merged

REASON = HoldReason.OTHER_VERSION
"""Stands for the new value of the enum, which a test cannot add."""
ENDS = NOW + timedelta(minutes=10)
LONG_AGO = NOW - timedelta(hours=1)
FRESH = CheckFreshness(age=timedelta(), limit=timedelta(minutes=1))
WORDS = "the moon is full"


def full_moon(moment: CheckMoment) -> Hold | None:
    return Hold(reason=REASON, message=WORDS) if moment.now < ENDS else None


ROW = CheckHoldRow((REASON,), full_moon)
BRIEF = replace(ROW, report=HoldReport(event=None, is_brief=True, prevents_storms=False))


class World:
    """One unhealthy target of one kind of check, in a state with one more row."""

    def __init__(
        self, kind: Any, check: CheckReference, target: TargetReference, state: ClusterState
    ) -> None:
        self.kind, self.check, self.state = kind, check, state
        self.incident = IncidentReference(cluster="main-0a1b", check=check, target=target)
        self.now = NOW

    def observation(self) -> Observation:
        return ObservationBuilder(
            cluster_state=self.state, incident=self.incident, freshness=FRESH, now=self.now
        ).observation()

    def snapshot(self) -> CheckSnapshot:
        found = SnapshotBuilder(self.state, lambda *_: NO_BACK_OFF).of(self.check, None, self.now)
        assert found is not None
        return found

    def status(self) -> Any:
        return merged({}, self.kind.status_patch(self.snapshot(), {}, self.now))

    def events(self, before: CheckSnapshot | None) -> list[Event]:
        """The Events besides the first Event of a NodeHealthCheck."""
        stored = {} if before is None else self.status()
        found: list[Event] = self.kind.events(before, self.snapshot(), stored, self.now)
        return [one for one in found if one.reason != "Enabled"]


def of_nodes(row: CheckHoldRow) -> World:
    small = SmallCluster(check_hold_rows=(*CHECK_HOLDS, row))
    small.check(minHealthy=0)
    small.node("a", ready="Unknown", since=LONG_AGO)
    incident = small_cluster.incident_of("a")
    return World(NODE_HEALTH_CHECK, incident.check, incident.target, small.cluster_state)


def of_openshift(row: CheckHoldRow) -> World:
    small = SmallMachines(check_hold_rows=(*CHECK_HOLDS, row))
    small.check()
    small.node("a", ready="Unknown")
    small.machine("a", node="a")
    target = TargetReference(kind="Machine", namespace=small_machines.CHECK.namespace, name="a", uid="uid-a")
    return World(OPENSHIFT, small_machines.CHECK, target, small.cluster_state)


def of_cluster_api(row: CheckHoldRow) -> World:
    small = SmallClusterApi(check_hold_rows=(*CHECK_HOLDS, row))
    small.check()
    small.node("a", ready="False", since=LONG_AGO)
    small.machine(small_cluster_api.machine_object("a"))
    target = TargetReference(
        kind="Machine", namespace=small_cluster_api.named().namespace, name="a", uid="uid-a"
    )
    return World(CLUSTER_API, small_cluster_api.named(), target, small.cluster_state)


ALL = pytest.mark.parametrize("world_of", [of_nodes, of_openshift, of_cluster_api])
Make = Callable[[CheckHoldRow], World]


@ALL
def test_incident_is_answered_with_the_hold_until_it_ends(world_of: Make) -> None:
    world = world_of(ROW)
    assert world.observation().hold == Hold(reason=REASON, message=WORDS)
    world.now = ENDS
    assert world.observation().hold is None


@ALL
def test_metrics_count_its_incidents_under_its_reason(world_of: Make) -> None:
    observation = world_of(ROW).observation()
    assert observed_phase(observation, NOW) is ObservedPhase.HELD
    assert observed_hold(observation, NOW) == REASON


@ALL
def test_status_names_it_until_it_ends(world_of: Make) -> None:
    world = world_of(ROW)
    assert shown(world) == (REASON, WORDS)
    world.now = ENDS
    assert shown(world) is None


def shown(world: World) -> tuple[str, str] | None:
    """Reason and words of the hold, as the API of the check has them."""
    status = world.status()
    if world.kind is NODE_HEALTH_CHECK:
        _, _, hold = status["reason"].partition("; no new remediation is begun: ")
        reason, _, words = hold.partition(": ")
        return (reason, words) if hold else None
    condition = next(one for one in status["conditions"] if one["type"] == "RemediationAllowed")
    return None if condition["status"] == "True" else (condition["reason"], condition["message"])


@ALL
def test_check_has_one_event_and_its_targets_have_theirs_after_it(world_of: Make) -> None:
    world = world_of(ROW)
    (event,) = world.events(None)
    assert event.severity is Severity.WARNING
    assert event.reason in {"RemediationRestricted", "RemediationSkipped"}
    assert event.message.endswith(WORDS)

    before = world.snapshot()
    assert world.events(before) == []
    world.now = ENDS
    assert [one.reason for one in world.events(before)] == of_target(world)


@ALL
def test_brief_hold_has_no_event_and_leaves_the_targets_theirs(world_of: Make) -> None:
    world = world_of(BRIEF)
    assert shown(world) == (REASON, WORDS)
    assert [one.reason for one in world.events(None)] == of_target(world)


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
    storms.advance(small_cluster.CHECK)
    assert (storms.of(small_cluster.CHECK) is not None) is may_begin
    leading.cancel()
    with suppress(asyncio.CancelledError):
        await leading
