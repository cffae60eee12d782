"""Checks, requests and their kinds that a user or another controller deletes during an incident."""

from datetime import UTC, datetime, timedelta

import pytest

from devcluster.simulation.resources import NODE_HEALTH_CHECKS
from health.model.remediation_request import INCIDENT, TARGET_UID
from kube.errors import NotFound
from tests.end_to_end.phases import add_phases
from tests.support.story.escalation import Escalation
from tests.support.story.other_kind import OtherKind
from tests.support.story.outcome import outcome_of
from tests.support.story.paramedic import Paramedic
from tests.support.story.world import REQUESTS, World

pytestmark = pytest.mark.cluster

TIMED_OUT = "remediation.medik8s.io/nhc-timed-out"
WAIT = ["paramedic.test/wait"]


@pytest.mark.rule("NHC 1/kind", "NHC 2.1/1", "NHC 2.0/check", "NHC 2.7/check deleted by force", "rule 10")
async def test_check_that_is_deleted_releases_its_nodes_in_whatever_phase_and_another_begins_anew(
    world: World,
) -> None:
    phases = await add_phases(world)
    workflows = [await world.workflow(node) for node in phases.all]
    spec = (await world.check())["spec"]

    await world.delete_check()
    assert [await outcome_of(workflow) for workflow in workflows] == ["Released"] * 4
    await world.until_clean(*phases.all)

    again = {"apiVersion": NODE_HEALTH_CHECKS.api_version, "kind": NODE_HEALTH_CHECKS.kind, "spec": spec}
    made = await world.client.create(NODE_HEALTH_CHECKS, again | {"metadata": {"name": world.name}})
    uid = made["metadata"]["uid"]
    escalation = Escalation(world)
    for node in (phases.remediating, phases.escalated):
        (request,) = (await escalation.until_steps(node, "1")).values()
        assert request["metadata"]["ownerReferences"][0]["uid"] == uid
    assert await escalation.requests(phases.waiting) == await escalation.requests(phases.held) == {}


@pytest.mark.rule("rule 9", "NHC 2.0/request", "NHC 2.4/6", "NHC 1.2/unhealthyNodes/remediations")
async def test_request_that_another_client_deletes_is_created_again_and_status_shows_the_new_one(
    world: World,
) -> None:
    (node,) = await world.add_nodes(1)
    await world.add_check()
    await world.fail(node)
    await world.until_status(phase="Remediating")
    earlier = (await world.request(node))["metadata"]
    lease = await world.lease(node)
    assert lease is not None
    await _until_a_second_later(world, earlier["creationTimestamp"])

    await world.client.delete(REQUESTS, node, "default")

    async def is_shown() -> bool:
        try:
            request = (await world.request(node))["metadata"]
        except NotFound:
            return False
        nodes = (await world.status()).get("unhealthyNodes", [{}])
        entries = nodes[0].get("remediations", ())
        shown = [(entry["resource"]["uid"], entry["started"]) for entry in entries]
        return request["uid"] != earlier["uid"] and shown == [(request["uid"], request["creationTimestamp"])]

    await world.until(is_shown, "the status never showed the new request alone")
    assert (await world.request(node))["metadata"]["creationTimestamp"] > earlier["creationTimestamp"]
    after = await world.lease(node)
    assert after is not None
    assert after["spec"]["holderIdentity"] == lease["spec"]["holderIdentity"]
    await world.recover(node)
    await world.until_clean(node)
    assert world.requests.created(node) == 2


async def _until_a_second_later(world: World, time: str) -> None:
    """Wait for the next second: creation times have whole seconds, so a new creation differs."""

    async def is_later() -> bool:
        return datetime.now(UTC) >= datetime.fromisoformat(time) + timedelta(seconds=1)

    await world.until(is_later, "the clock stands still")


@pytest.mark.rule(
    "NHC 2.7/finalizer", "NHC 2.2/request left", "NHC 2.1/13", "NHC 2.4/4", "NHC 1.2/healthyNodes"
)
async def test_request_that_hangs_on_a_finalizer_counts_and_a_new_one_waits_until_it_is_gone(
    world: World,
) -> None:
    first, second = await world.add_nodes(2)
    await world.add_check(minHealthy=1)
    await world.fail(first)
    await world.until_status(phase="Remediating", healthyNodes=1)
    await world.set_finalizers(first, WAIT)
    await world.recover(first)
    await world.until_phase(first, "CleaningUp")

    async def is_finalizer_named() -> bool:  # once the first attempt to delete has ended
        return "finalizer" in (await world.state(first)).details

    await world.until(is_finalizer_named, f"the incident of {first} never named the finalizer")
    await world.until_status(phase="Remediating", observedNodes=2, healthyNodes=1)
    assert await world.lease(first) is not None

    await world.fail(second)
    await world.until_phase(second, "Held")
    assert "Threshold" in (await world.state(second)).details
    await world.set_finalizers(first, None)
    await world.until_clean(first)
    await world.until_requested(second)

    # The node fails again while its request is being deleted.
    await world.set_finalizers(second, WAIT)
    uid = (await world.request(second))["metadata"]["uid"]
    await world.recover(second)
    await world.until_phase(second, "CleaningUp")
    await world.fail(second)
    await world.until_status(healthyNodes=1, phase="Remediating")
    assert (await world.request(second))["metadata"]["uid"] == uid
    await world.set_finalizers(second, None)

    async def is_another() -> bool:
        return world.requests.created(second) == 2

    await world.until(is_another, f"{second} never had another request")
    assert (await world.request(second))["metadata"]["uid"] != uid


async def test_a_template_of_another_kind_never_leads_to_a_second_request_for_a_node(
    other_kind: OtherKind, world: World, paramedic: Paramedic
) -> None:
    (node,) = await world.add_nodes(1)
    await world.add_check()
    await world.fail(node)
    await world.until_phase(node, "Remediating")
    await world.until_status(phase="Remediating")

    await world.edit_check(remediationTemplate=other_kind.template)
    await paramedic.detector.kill()
    await paramedic.detector.start_ready()
    await world.until_looked_at(node)
    assert world.requests.existing(node) == 1
    assert await other_kind.names() == []

    await world.recover(node)
    assert await world.outcome(node) == "Remediated"
    await world.until_clean(node)
    assert await other_kind.names() == []


@pytest.mark.rule("NHC 1.5/RemediationCreated", "NHC 1.5/RemediationRemoved")
async def test_request_that_lives_for_a_moment_is_reported(world: World) -> None:
    (node,) = await world.add_nodes(1)
    await world.add_check()
    await world.until_status(phase="Enabled")
    incident = await world.incident(node)
    owner = {
        "apiVersion": NODE_HEALTH_CHECKS.api_version,
        "kind": NODE_HEALTH_CHECKS.kind,
        "name": world.name,
        "uid": (await world.check())["metadata"]["uid"],
    }
    body = {
        "apiVersion": REQUESTS.api_version,
        "kind": REQUESTS.kind,
        "metadata": {
            "name": node,
            "namespace": "default",
            "ownerReferences": [owner],
            "annotations": {INCIDENT: incident.workflow_id, TARGET_UID: incident.target.uid},
        },
        "spec": {},
    }

    await world.client.create(REQUESTS, body, "default")  # it is not needed, so it is removed at once
    await world.until_clean(node)
    await _until_told(world, RemediationCreated=1, RemediationRemoved=1)


async def _until_told(world: World, **times: int) -> None:
    """Wait until each of these reasons has that many Events."""

    async def are_told() -> bool:
        told = [reason for _, reason, _ in await world.events()]
        return all(told.count(reason) == count for reason, count in times.items())

    await world.until(are_told, f"the Events never were {times}")
