"""A Machine or Node that cannot be decoded is left out until it can be; all others are handled."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

import pytest

from detector.state.cluster_state import ClusterState
from devcluster.simulation.resources import MACHINES
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from health.model.observation import HoldReason, TargetState
from health.model.target import TargetName, node_name
from health.policy.policy import Policy
from kube.connection import ClusterConnection
from kube.resource import LEASES, NAMESPACES, NODES, Object, resource_of
from kube.transport import Transport
from objects.timestamps import stamp
from runtime.problems import Problems
from tests.support.api.api_server import ApiServer, LiveWatch, lines, said
from tests.support.api.eventually import eventually
from tests.support.state.small_cluster import SmallCluster
from tests.support.state.small_machines import CHECK, UNKNOWN
from tests.support.state.sources import Sources, Watched
from tests.support.values.builders import NOW, condition, node_object
from tests.support.values.openshift import NAMESPACE, check_object

UNDECODABLE = {"type": "Ready", "status": "True", "lastTransitionTime": "0000-01-01T00:00:00Z"}
LAST_YEAR = stamp(NOW - timedelta(days=365))


def machine_object(name: str, version: str, last_updated: str = LAST_YEAR) -> Object:
    """A Machine that is linked to the Node."""
    return {
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "uid": f"uid-{name}",
            "resourceVersion": version,
            "creationTimestamp": LAST_YEAR,
        },
        "status": {"phase": "Running", "nodeRef": {"name": "node-1"}, "lastUpdated": last_updated},
    }


def serve(server: ApiServer, path: str, *found: Object) -> None:
    items = [check | {"metadata": {"resourceVersion": "9"} | check["metadata"]} for check in found]
    server.answer("GET", path, said({"metadata": {"resourceVersion": "10"}, "items": items}))
    server.watch(path, lines(then="silent"))


@pytest.mark.rule("rule 8/Machine")
async def test_machine_that_cannot_be_read_is_left_out_and_the_others_are_cared_for_until_it_can(
    server: ApiServer, transport: Transport
) -> None:
    # The schema does not restrict the name of a time zone.
    broken, live = machine_object("broken", "8", "0000-01-01T00:00:00Z"), LiveWatch()
    server.watch(MACHINES.path(), live)
    serve(server, MACHINES.path(), broken, machine_object("a", "9"))
    serve(server, NODES.path(), node_object(condition("Ready", "Unknown", NOW), name="node-1"))
    async with watched(server, transport) as state:
        await eventually(lambda: wanted(state) == {"a"})
        assert state.targets.is_unreadable(TargetName("Machine", NAMESPACE, "broken"))
        allowance = state.allowance(CHECK)
        assert allowance is not None
        assert (allowance.healthy, allowance.total) == (0, 1)

        live.send({"type": "MODIFIED", "object": machine_object("broken", "11")})
        await eventually(lambda: wanted(state) == {"a", "broken"})


@pytest.mark.rule("rule 8/node")
async def test_machine_never_looks_as_if_its_node_was_gone_while_that_does_not_decode(
    server: ApiServer, transport: Transport
) -> None:
    live, ready = LiveWatch(), node_object(condition("Ready", "True", NOW), name="node-1")
    server.watch(NODES.path(), live)
    serve(server, NODES.path(), ready)
    serve(server, MACHINES.path(), machine_object("a", "9"))
    async with watched(server, transport) as state:
        await eventually(lambda: (found := state.allowance(CHECK)) is not None and found.healthy == 1)
        lost: list[bool] = []
        state.event_handlers.add_change_handler(lambda _, target: lost.append(target in wanted(state)))
        live.send({"type": "MODIFIED", "object": at_version(node_object(UNDECODABLE, name="node-1"), "11")})
        await eventually(lambda: state.targets.is_unreadable(node_name("node-1")))
        live.send({"type": "MODIFIED", "object": at_version(ready, "12")})
        await eventually(lambda: (found := state.allowance(CHECK)) is not None and found.healthy == 1)
        assert len(lost) > 1
        assert not any(lost)

        live.send({"type": "MODIFIED", "object": at_version(node_object(UNDECODABLE, name="node-1"), "13")})
        live.send({"type": "DELETED", "object": at_version(node_object(UNDECODABLE, name="node-1"), "14")})
        await eventually(lambda: wanted(state) == {"a"})


def wanted(state: ClusterState) -> set[str]:
    return {incident.target.name for incident in state.all_wanted()}


def at_version(found: Object, version: str) -> Object:
    return found | {"metadata": found["metadata"] | {"resourceVersion": version}}


@asynccontextmanager
async def watched(server: ApiServer, transport: Transport) -> AsyncIterator[ClusterState]:
    """The state of a detector with one check and the objects that the test serves."""
    serve(server, resource_of(MACHINE_HEALTH_CHECK).path(), check_object(unhealthyConditions=[UNKNOWN]))
    for path in (LEASES.path("leases"), NAMESPACES.path()):
        serve(server, path)
    state, scope = ClusterState("test"), Watched(upgrade_signals=(), kinds=(MACHINE_HEALTH_CHECK,))
    running = asyncio.create_task(
        Sources(ClusterConnection.over(transport), state, scope, Problems(), Policy).run()
    )
    try:
        yield state
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


LONG = timedelta(minutes=10)


@pytest.mark.rule("rule 8/node")
def test_node_that_cannot_be_read_is_held_alone_with_field_and_value() -> None:
    cluster = SmallCluster()
    cluster.check(minHealthy=0)
    for name in ("node-1", "node-2"):
        cluster.node(name, ready="Unknown", since=cluster.now - LONG)
    cluster.delete_node("node-1")  # the watch reports the Node as gone; the reason is kept separately
    problem = "status.conditions.0.type: should be a string"
    cluster.cluster_state.targets.put_undecodable(node_name("node-1"), problem)

    unread, other = cluster.observe("node-1"), cluster.observe("node-2")

    assert unread.state is TargetState.UNKNOWN
    assert unread.hold is not None
    assert unread.hold.reason is HoldReason.INVALID_TARGET
    assert "status.conditions.0.type: should be a string" in unread.hold.message
    assert other.state is TargetState.EXPIRED
    assert other.hold is None
