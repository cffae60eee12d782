"""Templates that are tried one after the other while a node stays unhealthy."""

import pytest

from tests.end_to_end.escalation import Escalation, reported, timed_out
from tests.end_to_end.other_kind import OtherKind
from tests.end_to_end.world import World

pytestmark = pytest.mark.cluster


@pytest.fixture
def escalation(world: World) -> Escalation:
    """The steps of the world."""
    return Escalation(world)


@pytest.mark.rule(
    "rule 18",
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

    await escalation.until_in_status(node, over=("first", "second"), running=("third",))
    await world.until_status(phase="Remediating", observedNodes=1, healthyNodes=0)
    await escalation.report(node, "third", "False")
    await world.until_phase(node, "Exhausted")
    await escalation.until_timed_out(node, "third")
    await escalation.until_in_status(node, over=("first", "second", "third"))
    await escalation.until_told_once(node)
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
    await world.client.merge_patch(other.requests, node, reported("False"), "default")
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


@pytest.mark.rule("rule 18/annotation", "NHC 1.1/webhook/same kind")
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
    await escalation.allow_several("first")
    await world.until_status(phase="Disabled", observedNodes=1, healthyNodes=0)
    assert escalation.taken(node) == []

    await escalation.allow_several("second")
    await escalation.until_steps(node, "first")


@pytest.mark.rule(
    "rule 7/timed out", "NHC 1.1/pauseRequests", "NHC 1.4/Paused", "NHC 2.1/11", "rule 17", "rule 10/steps"
)
async def test_step_that_fails_in_a_pause_is_told_to_stop_and_the_next_one_waits_and_is_of_the_list_as_it_is(
    world: World, escalation: Escalation
) -> None:
    (node,) = await world.add_nodes(1)
    await escalation.add("first", "second")
    await world.add_template("third", multiple=True)
    await world.fail(node)
    (before,) = (await escalation.until_steps(node, "first")).values()
    await world.edit_check(pauseRequests=["maintenance of the rack"])
    await world.until_status(
        phase="Paused", reason="NHC is paused: maintenance of the rack", observedNodes=1, healthyNodes=0
    )

    await escalation.report(node, "first", "False")
    await escalation.until_timed_out(node, "first")
    await world.until_phase(node, "Held")
    (kept,) = (await escalation.requests(node)).values()
    assert kept["metadata"]["uid"] == before["metadata"]["uid"]
    await world.edit_check(pauseRequests=None, escalatingRemediations=escalation.steps("third", "second"))
    await escalation.until_steps(node, "first", "third")
    assert escalation.taken(node) == ["first", "third"]


async def _lease_seconds(world: World, node: str) -> int:
    lease = await world.lease(node)
    assert lease is not None
    return int(lease["spec"]["leaseDurationSeconds"])
