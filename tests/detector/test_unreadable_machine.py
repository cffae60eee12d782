"""A Machine that cannot be read is left out until it can, and the others are cared for."""

import asyncio
from contextlib import suppress
from datetime import timedelta

import pytest

from detector.state.cluster_state import ClusterState
from detector.watching.sources import Scope, Sources
from devcluster.simulation.resources import MACHINES
from health.gate.policy import Policy
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from health.model.target import TargetName
from kube.connection import ClusterConnection
from kube.resource import LEASES, NAMESPACES, NODES, Object, resource_of
from kube.transport import Transport
from objects.timestamps import stamp
from runtime.problems import Problems
from tests.detector.small_machines import CHECK, UNKNOWN
from tests.health.openshift.samples import NAMESPACE, check_object
from tests.kube.api_server import ApiServer, LiveWatch, lines, said
from tests.kube.conftest import server, transport
from tests.kube.eventually import eventually
from tests.objects import NOW, condition, node_object

__all__ = ["server", "transport"]

LAST_YEAR = stamp(NOW - timedelta(days=365))


def machine_object(name: str, version: str, last_updated: str = LAST_YEAR) -> Object:
    """One that is linked to the Node."""
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
    items = [one | {"metadata": {"resourceVersion": "9"} | one["metadata"]} for one in found]
    server.answer("GET", path, said({"metadata": {"resourceVersion": "10"}, "items": items}))
    server.watch(path, lines(then="silent"))


@pytest.mark.rule("rule 8/Machine")
async def test_machine_that_cannot_be_read_is_left_out_and_the_others_are_cared_for_until_it_can(
    server: ApiServer, transport: Transport
) -> None:
    # The schema says nothing about the name of a time's zone.
    broken, live = machine_object("broken", "8", "0000-01-01T00:00:00Z"), LiveWatch()
    server.watch(MACHINES.path(), live)
    serve(server, MACHINES.path(), broken, machine_object("a", "9"))
    serve(server, NODES.path(), node_object(condition("Ready", "Unknown", NOW), name="node-1"))
    serve(server, resource_of(MACHINE_HEALTH_CHECK).path(), check_object(unhealthyConditions=[UNKNOWN]))
    for path in (LEASES.path("leases"), NAMESPACES.path()):
        serve(server, path)
    state, scope = ClusterState("test"), Scope("leases", (), (MACHINE_HEALTH_CHECK,))
    running = asyncio.create_task(
        Sources(ClusterConnection.over(transport), state, scope, Problems(), Policy).run()
    )

    def wanted() -> set[str]:
        return {incident.target.name for incident in state.all_wanted()}

    await eventually(lambda: wanted() == {"a"}, 10)
    assert state.targets.is_unreadable(TargetName("Machine", NAMESPACE, "broken"))
    allowance = state.allowance(CHECK)
    assert allowance is not None
    assert (allowance.healthy, allowance.total) == (0, 1)

    live.send({"type": "MODIFIED", "object": machine_object("broken", "11")})
    await eventually(lambda: wanted() == {"a", "broken"}, 10)
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
