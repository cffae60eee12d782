"""Machines of OpenShift whose Nodes, in their own cluster, vanish together."""

import pytest

from devcluster.simulation.resources import MACHINES
from health.model.observation import HoldReason
from health.model.references import CheckReference
from kube.resource import NODES, Object
from kube.transport import Transport
from tests.detector.test_unreadable_machine import machine_object, serve, watched
from tests.support.api.api_server import ApiServer, LiveWatch
from tests.support.api.eventually import eventually
from tests.support.state.small_machines import CHECK
from tests.support.values.builders import NOW, condition, node_object

NAMES = [f"m{index}" for index in range(3)]


def node(name: str, version: str) -> Object:
    found = node_object(condition("Ready", "True", NOW), name=name)
    return found | {"metadata": found["metadata"] | {"resourceVersion": version}}


def machine(name: str, **metadata: str) -> Object:
    found = machine_object(name, "9")
    return found | {
        "metadata": found["metadata"] | metadata,
        "status": found["status"] | {"nodeRef": {"name": name}},
    }


@pytest.mark.rule("rule 50/vanished")
async def test_nodes_that_vanish_together_hold_the_check_before_any_machine_is_reported(
    server: ApiServer, transport: Transport
) -> None:
    nodes, machines = LiveWatch(), LiveWatch()
    server.watch(NODES.path(), nodes)
    server.watch(MACHINES.path(), machines)
    serve(server, NODES.path(), *(node(name, "9") for name in NAMES))
    serve(server, MACHINES.path(), *map(machine, NAMES))
    async with watched(server, transport) as state:
        await eventually(lambda: (found := state.allowance(CHECK)) is not None and found.healthy == 3, 10)
        assert not state.cluster_context.distrusted
        failed: list[str | None] = []

        def unheld(check: CheckReference, target: str | None) -> None:
            lost = target in state.checks[check].unhealthy
            if lost and len(state.checks[CHECK].unhealthy) > 1 and not state.cluster_context.distrusted:
                failed.append(target)

        state.event_handlers.add_change_handler(unheld)
        for number, name in enumerate(NAMES):
            nodes.send({"type": "DELETED", "object": node(name, str(11 + number))})
        await eventually(lambda: len(state.checks[CHECK].unhealthy) == 3, 10)
        hold = state.cluster_context.distrusted[""]
        assert hold.reason is HoldReason.NODES_VANISHED
        assert failed == []

        for number, name in enumerate(NAMES):
            nodes.send({"type": "ADDED", "object": node(name, str(21 + number))})
        await eventually(lambda: not state.cluster_context.distrusted, 10)
        assert state.cluster_context.gone_from("") is not None


@pytest.mark.rule("rule 50/vanished")
async def test_machines_that_are_being_deleted_may_lose_all_their_nodes(
    server: ApiServer, transport: Transport
) -> None:
    nodes, going = LiveWatch(), {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    server.watch(NODES.path(), nodes)
    serve(server, NODES.path(), *(node(name, "9") for name in NAMES))
    serve(server, MACHINES.path(), *(machine(name, **going) for name in NAMES))
    async with watched(server, transport) as state:
        await eventually(lambda: len(state.targets.of(CHECK)) == 3, 10)
        await eventually(lambda: all(target.node for target in state.targets.of(CHECK).values()), 10)
        for number, name in enumerate(NAMES):
            nodes.send({"type": "DELETED", "object": node(name, str(11 + number))})
        await eventually(lambda: not any(target.node for target in state.targets.of(CHECK).values()), 10)
        assert not state.cluster_context.distrusted
