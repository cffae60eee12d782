"""What is around all checks holds everything new, and nothing that cleans up."""

from collections.abc import AsyncIterator

import pytest

from health.gate.global_stop import STOP
from health.gate.policy_document import KEY, POLICY
from health.model.node import ZONE_LABEL
from kube.resource import CONFIG_MAPS, EVENTS, NAMESPACES, Object
from runtime.process_names import NAMESPACE
from tests.end_to_end.cluster_context.openshift import OpenShift
from tests.end_to_end.holds import until_held
from tests.end_to_end.world import LEASE_NAMESPACE, World

pytestmark = pytest.mark.cluster

CONFLICT = "Custom MachineHealthCheck(s) detected, disabling NodeHealthCheck to avoid conflicts"


@pytest.mark.rule(
    "NHC 2.1/4",
    "NHC 1.3/Disabled/ConflictingMachineHealthCheckDetected",
    "NHC 1.5/Disabled/MachineHealthCheck",
    "NHC 2.0/MachineHealthChecks",
    "NHC 2.1/6",
)
async def test_a_conflict_disables_the_check_until_it_ends(openshift: OpenShift, world: World) -> None:
    await openshift.add_machine_health_check("termination", "Terminating")
    (node,) = await world.add_nodes(1)
    await world.add_check()
    await world.until_status(phase="Enabled")
    await openshift.add_machine_health_check("workers", "Ready")

    reason = f"NHC is disabled: ConflictingMachineHealthCheckDetected: {CONFLICT}"
    await world.until_status(phase="Disabled", reason=reason)
    await world.fail(node)
    await world.until_phase(node, "Held")
    await world.until_status(observedNodes=1, healthyNodes=0)
    assert world.requests.created(node) == 0
    await world.until_told("Disabled", CONFLICT)
    await openshift.delete_machine_health_check("workers")

    await world.until_requested(node)
    assert (await world.events()).count(("Warning", "Disabled", f"[remediation] {CONFLICT}")) == 1


@pytest.fixture
async def policy(world: World) -> AsyncIterator[None]:
    """A policy that says what the settings of these tests say anyway, and turns the outage guard on."""
    body: Object = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": POLICY, "namespace": NAMESPACE},
        "data": {KEY: "backOffLimit: 0s\noutageGuard: {}"},
    }
    await world.client.create(CONFIG_MAPS, body, NAMESPACE)
    yield
    await world.client.delete(CONFIG_MAPS, POLICY, NAMESPACE)


@pytest.mark.rule("rule 37")
@pytest.mark.usefixtures("policy")
async def test_half_of_a_cluster_that_falls_silent_at_once_is_left_alone_and_one_node_is_not(
    world: World,
) -> None:
    await _until_told_of_the_policy(world)
    nodes = await world.add_nodes(10)
    silent, alone, zone = nodes[:4], nodes[4], f"{world.name}-a"
    for node in silent:
        await world.set_label(node, ZONE_LABEL, zone)
    await world.add_check(duration="5s")
    await world.fail(*silent, alone)

    await world.until_requested(alone)
    for node in silent:
        await until_held(world, node, f"of 4 Nodes of the zone {zone} of the cluster turned Ready=Unknown")
    assert [world.requests.created(node) for node in silent] == [0] * 4

    await world.recover(*silent[1:])
    await world.until_requested(silent[0])
    assert "counted since" in (await world.state(silent[0])).details
    assert [world.requests.created(node) for node in silent[1:]] == [0] * 3


async def _until_told_of_the_policy(world: World) -> None:
    async def is_told() -> bool:
        events = await world.client.list(EVENTS, NAMESPACE)
        return any(event["involvedObject"]["name"] == POLICY for event in events)

    await world.until(is_told, "no Event says that the policy was taken")


WINDOW = """\
backOffLimit: 0s
maintenanceWindows:
- {name: always, schedule: "* * * * *", duration: 1h, remediation: Blocked}
"""
LIMIT = "{backOffLimit: 0s, limits: {maxInFlight: 1}}"


async def _edit_policy(world: World, text: str) -> None:
    await world.client.merge_patch(CONFIG_MAPS, POLICY, {"data": {KEY: text}}, NAMESPACE)


@pytest.mark.rule("rule 43")
@pytest.mark.usefixtures("policy")
async def test_policy_is_told_of_and_says_when_and_how_many_remediations_begin(world: World) -> None:
    await _until_told_of_the_policy(world)
    await _edit_policy(world, WINDOW)
    first, second = await world.add_nodes(2)
    await world.add_check()
    await world.fail(first)
    await until_held(
        world, first, "MaintenanceWindow: the maintenance window always blocks remediation until"
    )
    await world.until_told("RemediationSkipped", "the maintenance window always blocks remediation")

    await _edit_policy(world, LIMIT)
    await world.until_requested(first)
    await world.fail(second)
    await until_held(world, second, "Limit: 1 remediation is under way, at most 1 allowed by the policy")
    await world.recover(first)
    await world.until_requested(second)
    assert world.requests.created(first) == 1


async def _stop(world: World, reason: str | None) -> None:
    patch = {"metadata": {"annotations": {STOP: reason}}}
    await world.client.merge_patch(NAMESPACES, LEASE_NAMESPACE, patch)


@pytest.fixture
async def lifted(world: World) -> AsyncIterator[None]:
    """The annotation is taken off whatever happens."""
    yield
    await _stop(world, None)


@pytest.mark.rule("rule 42", "rule 7/clean-up", "rule 15")
@pytest.mark.usefixtures("lifted")
async def test_annotation_stops_what_is_new_until_it_is_taken_off(world: World) -> None:
    at_work, later = await world.add_nodes(2)
    await world.add_check()
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
    await world.until_told("RemediationSkipped", words)

    await _stop(world, None)
    await world.until_requested(later)
    told = [message for _, reason, message in await world.events() if reason == "RemediationSkipped"]
    assert told == [f"[remediation] Postponing potential remediations: {words}"]


@pytest.mark.rule("rule 36", "rule 3")
async def test_an_upgrade_state_that_nobody_can_tell_holds_also_where_the_kind_is_served_later(
    openshift: OpenShift, world: World
) -> None:
    (node,) = await world.add_nodes(1)
    await world.add_check(pauseRequests=["until it is noticed"])
    await world.fail(node)
    await until_held(world, node, "Paused: ")
    await openshift.serve_cluster_versions()

    await until_held(world, node, "UpgradeUnknown: ", "there is no ClusterVersion")
    await openshift.set_progressing(None)
    await world.edit_check(pauseRequests=[])
    await world.until_looked_at(node)
    await until_held(world, node, "UpgradeUnknown: ")
    assert world.requests.created(node) == 0
    await openshift.set_progressing("False")

    await world.until_requested(node)
