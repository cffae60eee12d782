"""Templates that are tried one after the other while a node stays unhealthy."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from temporalio.client import WorkflowUpdateFailedError

from tests.end_to_end.escalation import Escalation, created, timed_out
from tests.end_to_end.other_kind import OtherKind
from tests.end_to_end.world import World

pytestmark = pytest.mark.cluster

MINUTE = timedelta(minutes=1)
"""The shortest timeout that the schema takes."""


@pytest.fixture
def escalation(world: World) -> Escalation:
    """The steps of the world."""
    return Escalation(world)


@pytest.mark.rule(
    "decision 18",
    "NHC 1.7/nhc-timed-out",
    "NHC 2.4/2",
    "NHC 2.4/3/name",
    "NHC 2.4/6/failed",
    "NHC 2.4/6/kept",
    "NHC 2.4/2/none left",
    "NHC 1.5/NoTemplateLeft",
)
async def test_steps_that_fail_are_followed_in_their_order_until_none_is_left(
    world: World, escalation: Escalation
) -> None:
    (node,) = await world.add_nodes(1)
    await escalation.add("first", "second", "third")
    await world.fail(node)

    await escalation.until_steps(node, "first")
    await escalation.report(node, "first", "False")
    await escalation.until_steps(node, "first", "second")
    await escalation.report(node, "second", "False")
    requests = await escalation.until_steps(node, "first", "second", "third")
    assert escalation.taken(node) == ["first", "second", "third"]
    assert all(timed_out(requests[step]) for step in ("first", "second"))
    assert not timed_out(requests["third"])
    names = {request["metadata"]["name"] for request in requests.values()}
    assert len(names) == 3
    assert all(name.startswith(f"{node}-") for name in names)

    await _until_in_status(world, escalation, node, over=("first", "second"), running=("third",))
    await world.until_status(phase="Remediating", observedNodes=1, healthyNodes=0)
    await escalation.report(node, "third", "False")
    await world.until_phase(node, "Exhausted")
    await escalation.until_timed_out(node, "third")
    await _until_in_status(world, escalation, node, over=("first", "second", "third"))
    await _until_told_once(world, node)
    assert escalation.taken(node) == ["first", "second", "third"]

    await world.recover(node)
    assert await world.outcome(node) == "Remediated"
    await world.until_clean(node)
    await world.until_status(phase="Enabled", healthyNodes=1, unhealthyNodes=None)


@pytest.mark.rule("NHC 2.4/2", "NHC 2.4/3", "NHC 2.4/3/name", "NHC 2.5/durations", "NHC 2.1/7")
async def test_steps_of_different_kinds_need_no_annotation_and_their_requests_have_the_name_of_the_node(
    world: World, escalation: Escalation
) -> None:
    other = OtherKind(world.client)
    await other.install()
    await other.grant()
    (node,) = await world.add_nodes(1)
    await world.add_template("last")
    last = {"remediationTemplate": world.template("last"), "order": 9, "timeout": "5m"}
    first = {"remediationTemplate": other.template, "order": -1, "timeout": "2m"}
    await world.add_check(escalatingRemediations=[last, first])
    await world.fail(node)

    async def is_requested() -> bool:
        return await other.names() == [node]

    await world.until(is_requested, "no request of the first step")
    assert await _lease_seconds(world, node) == 120 + 60
    assert escalation.taken(node) == []
    failed = {"status": {"conditions": [{"type": "Succeeded", "status": "False"}]}}
    await world.client.merge_patch(other.requests, node, failed, "default")
    requests = await escalation.until_steps(node, "last")
    assert requests["last"]["metadata"]["name"] == node
    assert await _lease_seconds(world, node) == 300 + 60
    assert await other.names() == [node]
    assert timed_out(await world.client.get(other.requests, node, "default"))

    await world.recover(node)
    assert await world.outcome(node) == "Remediated"
    await world.until_clean(node)
    assert await other.names() == []
    await world.delete_check()
    await other.uninstall()


@pytest.mark.rule("decision 18/annotation", "NHC 1.1/webhook/same kind")
async def test_steps_of_one_kind_disable_the_check_until_each_template_allows_several_requests(
    world: World, escalation: Escalation
) -> None:
    (node,) = await world.add_nodes(1)
    await escalation.add("first", "second", multiple=False)
    await world.fail(node)
    kind = world.template()["kind"]
    await world.until_status(
        phase="Disabled",
        reason="NHC is disabled: RemediationTemplateInvalid: Using multiple templates of same kind is not "
        f"supported for this template: duplicate template kind: {kind}",
    )
    await world.until_phase(node, "Held")
    await world.allow_several("first")
    await world.until_status(phase="Disabled", observedNodes=1, healthyNodes=0)
    assert escalation.taken(node) == []

    await world.allow_several("second")
    await escalation.until_steps(node, "first")


@pytest.mark.rule("decision 7/timed out", "NHC 1.1/pauseRequests")
@pytest.mark.parametrize("holder", ["pauseRequests", "threshold"])
async def test_step_that_fails_while_the_check_is_held_is_told_to_stop_and_the_next_one_waits(
    world: World, escalation: Escalation, holder: str
) -> None:
    node, *others = await world.add_nodes(3)
    await escalation.add("first", "second", minHealthy=1 if holder == "threshold" else 0)
    await world.fail(node)
    await escalation.until_steps(node, "first")
    if holder == "threshold":
        await asyncio.gather(*(world.set_ready(one, "Unknown") for one in others))
        await world.until_status(healthyNodes=0)
    else:
        await world.edit_check(pauseRequests=["maintenance"])
        await world.until_looked_at(node)
        await world.until_status(phase="Paused")

    await escalation.report(node, "first", "False")
    await escalation.until_timed_out(node, "first")
    await world.until_phase(node, "Held")
    assert escalation.taken(node) == ["first"]

    if holder == "threshold":
        await world.recover(*others)
    else:
        await world.edit_check(pauseRequests=None)
    await escalation.until_steps(node, "first", "second")


@pytest.mark.rule("decision 10/steps")
async def test_edited_list_is_that_of_the_next_step_and_the_running_one_goes_on(
    world: World, escalation: Escalation
) -> None:
    (node,) = await world.add_nodes(1)
    await escalation.add("first", "second")
    await world.add_template("third", multiple=True)
    await world.fail(node)
    (before,) = (await escalation.until_steps(node, "first")).values()

    await world.edit_check(escalatingRemediations=escalation.steps("third", "second"))
    await world.until_looked_at(node)
    (running,) = (await escalation.requests(node)).values()
    assert running["metadata"]["uid"] == before["metadata"]["uid"]
    assert not timed_out(running)
    await escalation.report(node, "first", "False")

    await escalation.until_steps(node, "first", "third")
    await world.recover(node)
    assert await world.outcome(node) == "Remediated"
    await world.until_clean(node)


@pytest.mark.timeout(240)
@pytest.mark.rule(
    "decision 40/exhausted",
    "NHC 2.4/6/timeout",
    "NHC 2.4/6/succeeded",
    "NHC 2.4/2/none left",
    "NHC 2.7/Succeeded",
    "NHC 1.5/NoTemplateLeft",
    "decision 15",
)
async def test_steps_time_out_and_an_exhausted_escalation_waits_for_resume(
    world: World, escalation: Escalation
) -> None:
    world.patience += MINUTE
    nodes = await world.add_named_nodes("silent", "in-vain", "last-silent", "last-in-vain")
    await escalation.add("first", "second", each="1m")
    await world.fail(*nodes.values())
    await world.until_requested(*nodes.values())
    await escalation.report(nodes["in-vain"], "first", "True")
    for node in (nodes["last-silent"], nodes["last-in-vain"]):
        await escalation.report(node, "first", "False")
        await escalation.until_steps(node, "first", "second")
    await escalation.report(nodes["last-in-vain"], "second", "True")
    assert [escalation.taken(nodes[name]) for name in ("silent", "in-vain")] == [["first"]] * 2

    for node in (nodes["silent"], nodes["in-vain"]):
        requests = await escalation.until_steps(node, "first", "second")
        assert created(requests["second"]) - created(requests["first"]) >= MINUTE
        assert bool(timed_out(requests["first"])) is (node == nodes["silent"])
        await _until_in_status(world, escalation, node, over=("first",), running=("second",))
    for node in (nodes["last-silent"], nodes["last-in-vain"]):
        await world.until_phase(node, "Exhausted")
        requests = await escalation.requests(node)
        assert datetime.now(UTC) - created(requests["second"]) >= MINUTE
        assert bool(timed_out(requests["second"])) is (node == nodes["last-silent"])
        await _until_in_status(world, escalation, node, over=("first", "second"))
        await _until_told_once(world, node)

    await _resume_from_the_first(world, escalation, nodes["last-silent"])
    await _resume_from_the_second(world, escalation, nodes["last-in-vain"])
    await world.recover(*nodes.values())
    for node in nodes.values():
        assert await world.outcome(node) == "Remediated"
    await world.until_clean(*nodes.values())


async def _resume_from_the_first(world: World, escalation: Escalation, node: str) -> None:
    before = await escalation.requests(node)
    await (await world.workflow(node)).execute_update("resume")
    after = await escalation.until_steps(node, "first")
    assert after["first"]["metadata"]["uid"] != before["first"]["metadata"]["uid"]
    await _until_in_status(world, escalation, node, running=("first",))
    await escalation.report(node, "first", "False")
    await escalation.until_steps(node, "first", "second")


async def _resume_from_the_second(world: World, escalation: Escalation, node: str) -> None:
    workflow = await world.workflow(node)
    with pytest.raises(WorkflowUpdateFailedError) as refused:
        await workflow.execute_update("resume", {"step": "third"})
    names = [world.template(step)["name"] for step in ("first", "second")]
    sentence = f"step: no step uses the template 'third'; the templates are {', '.join(names)}"
    assert str(refused.value.cause).endswith(sentence)
    await world.until_phase(node, "Exhausted")
    await workflow.execute_update("resume", {"step": names[1]})
    await escalation.until_steps(node, "second")
    assert escalation.taken(node) == ["first", "second", "second"]
    await escalation.report(node, "second", "False")
    await world.until_phase(node, "Exhausted")


async def _until_in_status(
    world: World,
    escalation: Escalation,
    node: str,
    *,
    over: tuple[str, ...] = (),
    running: tuple[str, ...] = (),
) -> None:
    """Return when the status lists the requests of these steps, those that are over with the time of it."""

    async def is_so() -> bool:
        told = await escalation.in_status(node)
        return {step: "timedOut" in entry for step, entry in told.items()} == {
            **dict.fromkeys(over, True),
            **dict.fromkeys(running, False),
        }

    await world.until(is_so, f"the status never had {over} over and {running} running")
    requests = await escalation.requests(node)
    for step, entry in (await escalation.in_status(node)).items():
        metadata = requests[step]["metadata"]
        assert (entry["resource"]["name"], entry["resource"]["uid"]) == (metadata["name"], metadata["uid"])
        assert entry["started"] == metadata["creationTimestamp"]


async def _until_told_once(world: World, node: str) -> None:
    """Return when the Event that no template is left is there, once."""
    message = (
        "[remediation] Remediation timed out, and no template left to try. "
        f"didn't find a template to use for NHC {world.name} and node {node}"
    )

    async def is_told() -> bool:
        return ("Warning", "NoTemplateLeft", message) in await world.events()

    await world.until(is_told, "no Event says that no template is left")
    assert (await world.events()).count(("Warning", "NoTemplateLeft", message)) == 1


async def _lease_seconds(world: World, node: str) -> int:
    lease = await world.lease(node)
    assert lease is not None
    return int(lease["spec"]["leaseDurationSeconds"])
