"""Paramedic takes over from a stopped NodeHealthCheck operator, and the other way round (rule 39)."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from kube.errors import NotFound
from kube.resource import Object
from tests.end_to_end.reference import Reference
from tests.support.story.escalation import Escalation, created, timed_out
from tests.support.story.leases import until_free, until_held
from tests.support.story.paramedic import Paramedic
from tests.support.story.remediator import report
from tests.support.story.second_check import events_of
from tests.support.story.world import REQUESTS, World

pytestmark = pytest.mark.cluster

MINUTE = timedelta(minutes=1)
SOON = timedelta(seconds=20)


async def uids(world: World, *names: str) -> list[str]:
    """The uid of each request; "" if it does not exist."""
    found = []
    for name in names:
        try:
            found.append((await world.request(name))["metadata"]["uid"])
        except NotFound:
            found.append("")
    return found


@pytest.mark.rule(
    "rule 39",
    "NHC 1.2/inFlightRemediations",
    "NHC 2.1/12",
    "NHC 2.1/12/PermanentNodeDeletionExpected",
    "NHC 2.4/4",
    "NHC 2.5/overdue",
    "NHC 2.7/entry without request",
    "rule 10/at start",
    "rule 15",
)
async def test_classic_remediations_of_the_operator_are_gone_on_with(
    world: World, paramedic: Paramedic
) -> None:
    nodes = await world.add_named_nodes("at-work", "overdue", "recovered")
    at_work, overdue, recovered = nodes.values()
    gone, expected, unlisted = (f"{world.name}-{name}" for name in ("gone", "expected", "unlisted"))
    await world.add_check()
    await world.fail(at_work, overdue)
    reference = Reference(world)
    for node in (at_work, overdue, recovered, gone):
        await reference.remediates(node)
    permanent = {"PermanentNodeDeletionExpected": "True"}
    leaving = await reference.remediates(expected, conditions=permanent)
    await reference.lists(unlisted)
    for node, since in ((at_work, 5 * MINUTE), (overdue, 31 * MINUTE), (recovered, MINUTE)):
        await reference.holds(node, lasts=11 * MINUTE, since=since)
    await reference.stops(observed=3)
    before = await uids(world, at_work, overdue, expected)

    await paramedic.start()
    await until_free(world, overdue)
    await world.until_clean(recovered, gone)
    await world.until_phase(at_work, "Remediating")
    assert "remediation.medik8s.io/nhc-timed-out" in (await world.request(overdue))["metadata"]["annotations"]
    assert await uids(world, at_work, overdue, expected) == before
    await _until_listed(world, at_work, expected, overdue)
    status = await world.status()
    assert "inFlightRemediations" not in status
    assert [entry["remediations"][0]["resource"]["uid"] for entry in status["unhealthyNodes"]] == [
        before[0],
        before[2],
        before[1],
    ]
    assert status["healthyNodes"] == 1
    assert not [event for event in await events_of(world, world.name) if event[1] == "Enabled"]

    await report(world, leaving["metadata"]["name"], **permanent, Succeeded="True")
    await world.recover(at_work, overdue)
    await world.until_clean(at_work, overdue, expected)
    await world.until_status(phase="Enabled", healthyNodes=3, unhealthyNodes=None)
    assert sum(world.requests.created(node) for node in (*nodes.values(), gone, expected)) == 5
    # The NodeHealthCheck operator emitted the Events for their creation; we emit those for their end.
    assert {event[1] for event in await events_of(world, world.name)} == {"RemediationRemoved"}


async def _until_listed(world: World, *nodes: str) -> None:
    async def are_listed() -> bool:
        return [entry["name"] for entry in (await world.status()).get("unhealthyNodes", ())] == sorted(nodes)

    await world.until(are_listed, f"the status never listed {nodes}")


@pytest.mark.rule(
    "rule 39",
    "rule 39/escalation",
    "rule 39/back",
    "NHC 2.4/4",
    "NHC 2.4/6/timeout",
    "NHC 2.4/6/failed",
    "NHC 2.4/2/none left",
)
async def test_escalation_of_the_operator_takes_its_next_step_on_time_and_can_be_given_back(
    world: World, paramedic: Paramedic
) -> None:
    world.patience += MINUTE
    nodes = await world.add_named_nodes("second", "between", "failed", "exhausted")
    second, between, failed, exhausted = nodes.values()
    escalation, reference = Escalation(world), Reference(world)
    await escalation.add("1", "2", "3", each="1m")
    await world.fail(*nodes.values())
    for node in (second, between, exhausted):
        await reference.remediates(node, "1", suffix="-x7k2p", is_timed_out=True)
    await reference.remediates(failed, "1", suffix="-x7k2p", conditions={"Succeeded": "False"})
    await reference.remediates(exhausted, "2", suffix="-9bq4z", is_timed_out=True)
    await reference.remediates(exhausted, "3", suffix="-hh5tw", is_timed_out=True)
    at_work = await reference.remediates(second, "2", suffix="-9bq4z")
    for node in (second, between, failed):
        await reference.holds(node, lasts=2 * MINUTE, since=MINUTE)
    await reference.stops(observed=4)

    await paramedic.start()
    assert (await escalation.until_steps(between, "1", "2"))["2"]["metadata"]["name"].startswith(between)
    assert timed_out((await escalation.until_steps(failed, "1", "2"))["1"])
    await world.until_phase(exhausted, "Exhausted")
    assert set(await escalation.requests(second)) == {"1", "2"}
    await asyncio.sleep((created(at_work) + MINUTE - datetime.now(UTC)).total_seconds())
    requests = await escalation.until_steps(second, "1", "2", "3")
    assert requests["2"]["metadata"]["uid"] == at_work["metadata"]["uid"]
    late = created(requests["3"]) - created(at_work)
    assert MINUTE <= late <= MINUTE + SOON
    marked = datetime.fromisoformat(timed_out(await escalation.until_timed_out(second, "2")))
    assert marked - created(at_work) >= MINUTE
    assert set(await escalation.requests(exhausted)) == {"1", "2", "3"}

    await _until_in_status(world, escalation, second)
    await paramedic.detector.stop()
    await paramedic.worker.stop()
    await _assert_reference_can_read(world, escalation, second)
    await world.recover(*nodes.values())
    await paramedic.start()
    await world.until_clean(*nodes.values())


async def _until_in_status(world: World, escalation: Escalation, node: str) -> None:
    async def is_there() -> bool:
        steps = await escalation.in_status(node)
        return set(steps) == {"1", "2", "3"} and "timedOut" in steps["2"]

    await world.until(is_there, f"the status never listed all steps of {node}")


async def _assert_reference_can_read(world: World, escalation: Escalation, node: str) -> None:
    """All fields must be there from which the reference continues (NHC 1.2, NHC 1.7, NHC 1.8)."""
    listed, incident = await escalation.in_status(node), await world.incident(node)
    uid = (await world.check())["metadata"]["uid"]
    for step, request in (await escalation.requests(node)).items():
        metadata, template = request["metadata"], world.template(step)["name"]
        assert metadata["name"].startswith(f"{node}-")
        assert metadata["annotations"]["remediation.medik8s.io/node-name"] == node
        assert metadata["annotations"]["remediation.medik8s.io/template-name"] == template
        assert metadata["labels"]["app.kubernetes.io/part-of"] == "node-healthcheck-controller"
        assert metadata["ownerReferences"] == [
            {
                "apiVersion": "remediation.medik8s.io/v1alpha1",
                "kind": "NodeHealthCheck",
                "name": world.name,
                "uid": uid,
                "controller": False,
            }
        ]
        assert metadata["annotations"]["paramedic.dev/incident"] == incident.workflow_id
        if "paramedic.dev/target-uid" in metadata["annotations"]:
            assert metadata["generateName"] == f"{node}-"
        assert request["spec"] == {"powerOffSeconds": 7}
        entry = dict(listed[step])
        assert bool(entry.pop("timedOut", "")) == (step != "3") == bool(timed_out(request))
        assert entry == {
            "resource": _resource(metadata),
            "started": metadata["creationTimestamp"],
            "templateName": template,
        }
    lease = await until_held(world, node, f"NodeHealthCheck-{world.name}")
    assert lease["leaseDurationSeconds"] == 120
    assert datetime.fromisoformat(lease["acquireTime"]) < datetime.now(UTC) - MINUTE
    assert (await world.status())["conditions"][0]["status"] == "False"


def _resource(metadata: Object) -> Object:
    return {
        "apiVersion": REQUESTS.api_version,
        "kind": REQUESTS.kind,
        "namespace": "default",
        "name": metadata["name"],
        "uid": metadata["uid"],
    }
