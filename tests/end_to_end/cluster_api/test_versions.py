"""A cluster that serves v1beta1 alone, one that begins to serve v1beta2 under running processes, and back."""

from collections.abc import AsyncIterator

import pytest

from devcluster import cluster_api_crds
from devcluster.cluster_api_crds import NewestVersion
from devcluster.control_plane import ControlPlane
from devcluster.simulation.cluster_api_machine import ClusterApi
from tests.end_to_end.cluster_api.fleet import NEW, OLD, OWNER, SUCCEEDED, Fleet, until_served
from tests.end_to_end.machines.check import Check

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def settings() -> dict[str, str]:
    """What is looked for at the end of each watch is found sooner where watches end sooner."""
    return {"PARAMEDIC_SIGHT_LIMIT_SECONDS": "10"}


@pytest.fixture
async def old_fleet(fleet: Fleet, control_plane: ControlPlane) -> AsyncIterator[Fleet]:
    """Of a cluster that has served v1beta2, and serves v1beta1 alone now."""
    await fleet.delete_cluster()
    await switch(fleet, control_plane, OLD)
    await fleet.make()
    yield fleet
    await switch(fleet, control_plane, NEW)


async def switch(fleet: Fleet, control_plane: ControlPlane, api: ClusterApi) -> None:
    """Let this version be the newest one that is served, under whatever runs."""
    await cluster_api_crds.apply(control_plane.kubeconfig, NewestVersion(api.version))
    await until_served(fleet.client, api)
    fleet.api = api


async def has_form_of_v1beta1(fleet: Fleet, check: Check, machine: str) -> bool:
    """Whether the marks of a failed Machine, and its check, are said in the form of v1beta1."""
    status = (await fleet.get(machine))["status"]
    told = [one for one in status["conditions"] if one["type"] in (SUCCEEDED, OWNER)]
    assert {one["severity"] for one in told} == {"Warning"}
    twins = {one["type"]: one["status"] for one in status["v1beta2"]["conditions"]}
    assert twins == {SUCCEEDED: "False", OWNER: "False"}
    return "v1beta2" in (await check.get())["status"]


@pytest.mark.rule(
    "rule 32",
    "CAPI B.1/kind",
    "CAPI B.1/version under way",
    "CAPI B.1/condition/form",
    "CAPI B.1/status/form",
)
async def test_marks_have_the_form_of_the_version_that_is_served_also_when_that_changes_under_way(
    old_fleet: Fleet, control_plane: ControlPlane
) -> None:
    fleet = old_fleet
    before, between, after = await fleet.add("before", "between", "after")
    check = await fleet.add_check()
    await fleet.until_healthy(before, between, after)
    await fleet.nodes.fail(before)
    await fleet.until_marked(before)
    await check.until_numbers(3, 2, 2)
    assert await has_form_of_v1beta1(fleet, check, before)

    await switch(fleet, control_plane, NEW)
    now = Check(fleet.world, check.name, NEW.machine_health_checks)
    await now.until_condition("RemediationAllowed", status="True", reason="RemediationAllowed")
    await fleet.until_said(after, SUCCEEDED, status="True", reason=SUCCEEDED)
    await fleet.nodes.fail(between)
    await fleet.until_marked(between)
    assert "severity" not in await fleet.condition(between, OWNER)
    assert (await fleet.twin(between, OWNER))["severity"] == "Warning"
    await now.until_numbers(3, 1, 1)

    await switch(fleet, control_plane, OLD)
    await fleet.nodes.fail(after)
    await fleet.until_marked(after)
    await check.until_numbers(3, 0, 0)
    assert await has_form_of_v1beta1(fleet, check, after)
