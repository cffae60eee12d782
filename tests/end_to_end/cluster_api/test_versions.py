"""A cluster stops serving v1beta2 while our processes run, serves only v1beta1, and later v1beta2 again."""

from collections.abc import AsyncIterator

import pytest

from devcluster import cluster_api_crds
from devcluster.cluster_api_crds import NewestVersion
from devcluster.control_plane import ControlPlane
from devcluster.simulation.machine_api import ClusterApi
from tests.end_to_end.cluster_api.fleet import NEW, OLD, OWNER, SUCCEEDED, Fleet, until_served
from tests.support.story.machine_check import Check
from tests.support.story.policies import NO_BACK_OFF

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def policy() -> str:
    """Shorter watches: what is checked at the end of each watch is found sooner."""
    return f"{NO_BACK_OFF}\nstalenessLimit: 10s"


@pytest.fixture
async def versions(fleet: Fleet, control_plane: ControlPlane) -> AsyncIterator[Fleet]:
    """A cluster that serves v1beta2 now and again after the test."""
    yield fleet
    if fleet.api != NEW:
        await switch(fleet, control_plane, NEW)


async def switch(fleet: Fleet, control_plane: ControlPlane, api: ClusterApi) -> None:
    """Serve this version as the newest one while our processes run."""
    await cluster_api_crds.apply(control_plane.kubeconfig, NewestVersion(api.version))
    await until_served(fleet.client, api)
    fleet.api = api


async def must_have_form_of_v1beta2(fleet: Fleet, machine: str) -> None:
    assert "severity" not in await fleet.condition(machine, OWNER)
    assert (await fleet.twin(machine, OWNER))["severity"] == "Warning"


async def must_have_form_of_v1beta1(fleet: Fleet, check: Check, machine: str) -> None:
    status = (await fleet.get(machine))["status"]
    told = [condition for condition in status["conditions"] if condition["type"] in (SUCCEEDED, OWNER)]
    assert {event["severity"] for event in told} == {"Warning"}
    twins = {condition["type"]: condition["status"] for condition in status["v1beta2"]["conditions"]}
    assert twins == {SUCCEEDED: "False", OWNER: "False"}
    assert "v1beta2" in (await check.get())["status"]


@pytest.mark.rule(
    "rule 32",
    "CAPI B.1/kind",
    "CAPI B.1/version under way",
    "CAPI B.1/condition/form",
    "CAPI B.1/status/form",
)
async def test_marks_have_the_form_of_the_version_that_is_served_also_when_that_changes_under_way(
    versions: Fleet, control_plane: ControlPlane
) -> None:
    fleet = versions
    before, between = await fleet.add("before", "between")
    check = await fleet.add_check()
    await fleet.until_healthy(before, between)
    await fleet.nodes.fail(before)
    await fleet.until_marked(before)
    await check.until_numbers(2, 1, 1)
    await must_have_form_of_v1beta2(fleet, before)

    await switch(fleet, control_plane, OLD)
    old = Check(fleet.world, check.name, OLD.machine_health_checks)
    (after,) = await fleet.add("after")
    # Applied by a client that knows no other version.
    conditions = [{"type": "Ready", "status": "Unknown", "timeout": "1s"}]
    await old.edit(checks=None, unhealthyConditions=conditions)
    await old.until_numbers(3, 2, 2)
    await fleet.nodes.fail(between)
    await fleet.until_marked(between)
    await old.until_numbers(3, 1, 1)
    await must_have_form_of_v1beta1(fleet, old, between)

    await switch(fleet, control_plane, NEW)
    await check.until_condition("RemediationAllowed", status="True", reason="RemediationAllowed")
    await fleet.until_said(after, SUCCEEDED, status="True", reason=SUCCEEDED)
    await fleet.nodes.fail(after)
    await fleet.until_marked(after)
    await must_have_form_of_v1beta2(fleet, after)
    await check.until_numbers(3, 0, 0)
