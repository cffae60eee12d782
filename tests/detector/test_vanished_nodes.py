"""Machines of OpenShift whose Nodes, in their own cluster, vanish together."""

from datetime import UTC, datetime, timedelta

import pytest

from detector.state.cluster_state import ClusterState
from devcluster.simulation.resources import MACHINES
from health.cluster.lost_nodes import CONFIRM
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from health.model.observation import HoldReason
from health.model.references import CheckReference
from kube.resource import NODES, Object, resource_of
from kube.transport import Transport
from objects.timestamps import stamp
from tests.detector.test_unreadable_objects import machine_object, serve, watched
from tests.support.api.api_server import ApiServer, LiveWatch
from tests.support.api.eventually import eventually
from tests.support.state.small_machines import CHECK, UNKNOWN
from tests.support.values.builders import NOW, condition, node_object
from tests.support.values.openshift import check_object

CHECKS = resource_of(MACHINE_HEALTH_CHECK)
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


async def until_healthy(state: ClusterState) -> None:
    await eventually(lambda: (found := state.allowance(CHECK)) is not None and found.healthy == 3)


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
        await until_healthy(state)
        assert not state.cluster_context.distrusted
        failed: list[str | None] = []

        def unheld(check: CheckReference, target: str | None) -> None:
            lost = target in state.checks[check].unhealthy
            if lost and len(state.checks[CHECK].unhealthy) > 2 and not state.cluster_context.distrusted:
                failed.append(target)

        state.event_handlers.add_change_handler(unheld)
        for number, name in enumerate(NAMES):
            nodes.send({"type": "DELETED", "object": node(name, str(11 + number))})
        await eventually(lambda: len(state.checks[CHECK].unhealthy) == 3)
        hold = state.cluster_context.distrusted[""]
        assert hold.reason is HoldReason.NODES_VANISHED
        assert failed == []

        for number, name in enumerate(NAMES):
            nodes.send({"type": "ADDED", "object": node(name, str(21 + number))})
        await eventually(lambda: not state.cluster_context.distrusted)
        assert state.cluster_context.gone_from("") is not None


@pytest.mark.rule("rule 50/vanished")
async def test_confirmation_in_the_future_ends_no_hold_and_one_in_the_past_does(
    server: ApiServer, transport: Transport
) -> None:
    checks, nodes = LiveWatch(), LiveWatch()
    server.watch(CHECKS.path(), checks)
    server.watch(NODES.path(), nodes)
    serve(server, NODES.path(), *(node(name, "9") for name in NAMES))
    serve(server, MACHINES.path(), *map(machine, NAMES))
    async with watched(server, transport) as state:
        await until_healthy(state)
        for number, name in enumerate(NAMES):
            nodes.send({"type": "DELETED", "object": node(name, str(11 + number))})
        await eventually(lambda: bool(state.cluster_context.distrusted))

        def confirm(time: datetime, version: str) -> None:
            found = check_object(unhealthyConditions=[UNKNOWN])
            metadata = found["metadata"] | {"annotations": {CONFIRM: stamp(time)}, "resourceVersion": version}
            checks.send({"type": "MODIFIED", "object": found | {"metadata": metadata}})

        now = datetime.now(UTC)
        confirm(now + timedelta(hours=1), "20")
        await eventually(lambda: CHECK in state.cluster_context.refused_confirmations)
        assert state.cluster_context.distrusted

        confirm(now + timedelta(seconds=1), "21")
        await eventually(lambda: not state.cluster_context.distrusted)
        assert not state.cluster_context.refused_confirmations


@pytest.mark.rule("rule 50/vanished")
@pytest.mark.parametrize("is_known_before", [True, False])
async def test_machines_whose_provider_says_that_the_instance_is_gone_hold_nothing(
    server: ApiServer, transport: Transport, *, is_known_before: bool
) -> None:
    """A cloud may delete the Node before or after the provider notices that the instance is gone."""
    nodes, machines = LiveWatch(), LiveWatch()
    server.watch(NODES.path(), nodes)
    server.watch(MACHINES.path(), machines)
    serve(server, NODES.path(), *(node(name, "9") for name in NAMES))
    serve(server, MACHINES.path(), *map(machine, NAMES))
    async with watched(server, transport) as state:
        await until_healthy(state)

        def fail_machines() -> None:
            for number, name in enumerate(NAMES):
                failed = machine(name, resourceVersion=str(11 + number))
                status = failed["status"] | {"phase": "Failed"}
                machines.send({"type": "MODIFIED", "object": failed | {"status": status}})

        def have_failed() -> bool:
            return all(target.machine.has_failed for target in state.targets.of(CHECK).values())  # type: ignore[attr-defined]  # Machines

        if is_known_before:
            fail_machines()
            await eventually(have_failed)
        for number, name in enumerate(NAMES):
            nodes.send({"type": "DELETED", "object": node(name, str(21 + number))})
        await eventually(lambda: not any(target.node for target in state.targets.of(CHECK).values()))
        assert bool(state.cluster_context.distrusted) is not is_known_before
        if not is_known_before:
            fail_machines()
        await eventually(lambda: have_failed() and not state.cluster_context.distrusted)


@pytest.mark.rule("rule 50/vanished")
async def test_machines_that_are_being_deleted_may_lose_all_their_nodes(
    server: ApiServer, transport: Transport
) -> None:
    nodes, going = LiveWatch(), {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    server.watch(NODES.path(), nodes)
    serve(server, NODES.path(), *(node(name, "9") for name in NAMES))
    serve(server, MACHINES.path(), *(machine(name, **going) for name in NAMES))
    async with watched(server, transport) as state:
        await eventually(lambda: len(state.targets.of(CHECK)) == 3)
        await eventually(lambda: all(target.node for target in state.targets.of(CHECK).values()))
        for number, name in enumerate(NAMES):
            nodes.send({"type": "DELETED", "object": node(name, str(11 + number))})
        await eventually(lambda: not any(target.node for target in state.targets.of(CHECK).values()))
        assert not state.cluster_context.distrusted
