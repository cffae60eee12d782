"""What is around all checks holds everything new, and nothing that cleans up."""

from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest

from health.global_stop import STOP
from kube.errors import AlreadyExists
from kube.resource import NAMESPACES, Object
from tests.end_to_end.conftest import Paramedic
from tests.end_to_end.other_kind import OtherKind
from tests.end_to_end.surroundings.openshift import OpenShift
from tests.end_to_end.world import LEASE_NAMESPACE, World

pytestmark = pytest.mark.cluster

DURATION = timedelta(seconds=4)
POSTPONED = (
    "Normal",
    "RemediationSkipped",
    "[remediation] Postponing potential remediations because of ongoing cluster upgrade",
)
CONFLICT = "Custom MachineHealthCheck(s) detected, disabling NodeHealthCheck to avoid conflicts"


@pytest.mark.rule(
    "NHC 2.1/10",
    "NHC 1.5/RemediationSkipped/upgrade",
    "decision 17",
    "decision 37",
    "decision 6",
    "decision 15",
)
async def test_nothing_new_is_done_during_an_upgrade_and_clocks_restart_at_its_end(
    world: World, paramedic: Paramedic, openshift: OpenShift
) -> None:
    await openshift.serve_cluster_versions()
    await openshift.set_progressing("True")
    first, second = await world.add_nodes(2)
    await world.add_check(duration="4s")
    await paramedic.start()
    await world.fail(first)

    await world.until_phase(first, "Held")
    assert "Upgrading: the cluster is being upgraded since" in (await world.state(first)).details
    await world.until_status(phase="Enabled", observedNodes=2, healthyNodes=1)
    assert world.requests.created(first) == 0
    ended = await openshift.set_progressing("False")

    await world.until_phase(first, "Waiting")
    await world.until_requested(first)
    made = datetime.fromisoformat((await world.request(first))["metadata"]["creationTimestamp"])
    assert made >= ended + DURATION
    assert (await world.events()).count(POSTPONED) == 1
    assert world.requests.created(second) == 0


async def _set_rolling_out(world: World, other: OtherKind, status: str) -> datetime:
    """Let an object of another kind say that it is rolled out, or not, from now on; answers the time."""
    now = datetime.now(UTC).replace(microsecond=0)
    stamp = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    condition = {"type": "RollingOut", "status": status, "lastTransitionTime": stamp}
    body: Object = {
        "apiVersion": other.requests.api_version,
        "kind": other.requests.kind,
        "metadata": {"name": "blue"},
    }
    with suppress(AlreadyExists):
        await world.client.create(other.requests, body, "default")
    patch: Object = {"status": {"conditions": [condition]}}
    await world.client.merge_patch(other.requests, "blue", patch, "default")
    return now


@pytest.mark.rule("decision 38", "decision 37")
async def test_nothing_new_is_done_while_an_object_of_the_setting_signals_an_upgrade(
    world: World, paramedic: Paramedic
) -> None:
    other = OtherKind(world.client)
    await other.install()
    await other.grant()
    paramedic.detector.environment["PARAMEDIC_UPGRADE_SIGNALS"] = (
        f"{other.api_version}/{other.requests.kind}/RollingOut=True"
    )
    await _set_rolling_out(world, other, "True")
    (node,) = await world.add_nodes(1)
    await world.add_check(duration="4s")
    await paramedic.start()
    await world.fail(node)

    await _until_held(world, node, "Upgrading: ", "says Reset/default/blue: RollingOut=True")
    assert world.requests.created(node) == 0
    ended = await _set_rolling_out(world, other, "False")

    await world.until_requested(node)
    made = datetime.fromisoformat((await world.request(node))["metadata"]["creationTimestamp"])
    assert made >= ended + DURATION


@pytest.mark.rule("NHC 2.1/10", "decision 7/clean-up")
async def test_a_node_that_recovers_during_an_upgrade_is_cleaned_up(
    world: World, paramedic: Paramedic, openshift: OpenShift
) -> None:
    await openshift.serve_cluster_versions()
    await openshift.set_progressing("False")
    (node,) = await world.add_nodes(1)
    await world.add_check()
    await paramedic.start()
    await world.fail(node)
    await world.until_phase(node, "Remediating")
    await openshift.set_progressing("True")

    await world.recover(node)
    assert await world.outcome(node) == "Remediated"
    await world.until_clean(node)


@pytest.mark.rule("decision 36", "decision 3")
async def test_an_upgrade_state_that_nobody_can_tell_holds_also_where_the_kind_is_served_later(
    world: World, paramedic: Paramedic, openshift: OpenShift
) -> None:
    (node,) = await world.add_nodes(1)
    await world.add_check(pauseRequests=["until it is noticed"])
    await paramedic.start()
    await world.fail(node)
    await _until_held(world, node, "Paused: ")
    await openshift.serve_cluster_versions()

    await _until_held(world, node, "UpgradeUnknown: ", "there is no ClusterVersion")
    await openshift.set_progressing(None)
    await world.edit_check(pauseRequests=[])
    await world.until_looked_at(node)
    await _until_held(world, node, "UpgradeUnknown: ")
    assert world.requests.created(node) == 0
    await openshift.set_progressing("False")

    await world.until_requested(node)


async def _until_held(world: World, node: str, *words: str) -> None:
    async def is_held() -> bool:
        if not await world.has_incident(node):
            return False
        state = await world.state(node)
        return state.phase == "Held" and all(word in state.details for word in words)

    await world.until(is_held, f"{node} was never held with {words}")


@pytest.mark.rule(
    "NHC 2.1/4",
    "NHC 1.3/Disabled/ConflictingMachineHealthCheckDetected",
    "NHC 1.5/Disabled/MachineHealthCheck",
    "NHC 2.0/MachineHealthChecks",
    "NHC 2.1/6",
)
async def test_a_conflict_disables_the_check_until_it_ends(
    world: World, paramedic: Paramedic, openshift: OpenShift
) -> None:
    await openshift.add_machine_health_check("termination", "Terminating")
    (node,) = await world.add_nodes(1)
    await world.add_check()
    await paramedic.start()
    await world.until_status(phase="Enabled")
    await openshift.add_machine_health_check("workers", "Ready")

    reason = f"NHC is disabled: ConflictingMachineHealthCheckDetected: {CONFLICT}"
    await world.until_status(phase="Disabled", reason=reason)
    await world.fail(node)
    await world.until_phase(node, "Held")
    await world.until_status(observedNodes=1, healthyNodes=0)
    assert world.requests.created(node) == 0
    await openshift.delete_machine_health_check("workers")

    await world.until_requested(node)
    assert (await world.events()).count(("Warning", "Disabled", f"[remediation] {CONFLICT}")) == 1


async def _stop(world: World, reason: str | None) -> None:
    patch = {"metadata": {"annotations": {STOP: reason}}}
    await world.client.merge_patch(NAMESPACES, LEASE_NAMESPACE, patch)


@pytest.fixture
async def lifted(world: World) -> AsyncIterator[None]:
    """The annotation is taken off whatever happens."""
    yield
    await _stop(world, None)


@pytest.mark.rule("decision 42", "decision 7/clean-up", "decision 15")
@pytest.mark.usefixtures("lifted")
async def test_annotation_stops_what_is_new_until_it_is_taken_off(world: World, paramedic: Paramedic) -> None:
    at_work, later = await world.add_nodes(2)
    await world.add_check()
    await paramedic.start()
    await world.fail(at_work)
    await world.until_phase(at_work, "Remediating")
    await _stop(world, "power work in row 7")

    await world.fail(later)
    await world.until_phase(later, "Held")
    words = "stopped in the whole cluster: power work in row 7"
    assert f"Stopped: {words}" in (await world.state(later)).details
    await world.recover(at_work)
    assert await world.outcome(at_work) == "Remediated"
    assert world.requests.created(later) == 0

    await _stop(world, None)
    await world.until_requested(later)
    told = [message for _, reason, message in await world.events() if reason == "RemediationSkipped"]
    assert told == [f"[remediation] Postponing potential remediations: {words}"]
