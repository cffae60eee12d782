"""The actions and waits that the rows of the scenarios name.

A wait returns the value that the text after it quotes. A row limits its wait, so most poll without an end.
"""

import os
import signal
from collections.abc import Awaitable, Callable

from devcluster.demo import incident
from devcluster.demo.cluster_view import MachineView
from devcluster.demo.facts import ConditionSeen, MachineSeen, MarkSeen, RequestSeen
from devcluster.demo.fixtures import CHECK, SPARE
from devcluster.demo.incident import seen
from devcluster.demo.stage import Stage
from devcluster.demo.upgrade_view import answer_of_pause, pause_of, unpause
from devcluster.simulation.nodes import power_off, power_on
from health.upgrade.decision import PauseOrderRecord
from health.upgrade.memory import CheckRow
from workflows.messages import State


async def nodes_are_healthy(stage: Stage) -> str:
    cluster = stage.environment.cluster
    await seen(cluster.wake_nodes)
    await seen(cluster.set_up)
    stage.fleet = await seen(cluster.healthy_fleet)
    return ", ".join(node.name for node in stage.fleet)


async def machines_are_healthy(stage: Stage) -> str:
    return await _healthy_machines(stage, stage.environment.machines, stage.environment.machines.set_up)


async def cluster_api_machines_are_healthy(stage: Stage) -> str:
    machines = stage.environment.cluster_api
    return await _healthy_machines(stage, machines, machines.set_up)


async def machines_of_upgrade_are_healthy(stage: Stage) -> str:
    return await _healthy_machines(stage, stage.environment.machines, stage.environment.upgrade.set_up)


async def _healthy_machines(
    stage: Stage, machines: MachineView, set_up: Callable[[], Awaitable[bool]]
) -> str:
    await seen(stage.environment.cluster.wake_nodes)
    await seen(set_up)
    stage.fleet = fleet = await seen(machines.healthy_machines)
    return ", ".join(f"{machine.name} ({machine.node.name})" for machine in fleet)


async def aim_at_first(stage: Stage) -> None:
    stage.aim_at(stage.fleet[0])


async def aim_at_middle(stage: Stage) -> None:
    stage.aim_at(stage.fleet[len(stage.fleet) // 2])


async def aim_at_last(stage: Stage) -> None:
    stage.aim_at(stage.fleet[-1])


async def stop_kubelet(stage: Stage) -> None:
    await stage.environment.cluster.change_node(stage.node.name, power_off())


async def start_kubelet(stage: Stage) -> None:
    await stage.environment.cluster.change_node(stage.node.name, power_on())


async def node_is_unknown(stage: Stage) -> ConditionSeen:
    return await seen(lambda: stage.environment.cluster.ready_condition(stage.node.name, "Unknown"))


async def node_is_ready(stage: Stage) -> ConditionSeen:
    return await seen(lambda: stage.environment.cluster.ready_condition(stage.node.name, "True"))


async def node_reboots(stage: Stage) -> str:
    return await seen(lambda: stage.environment.cluster.new_boot(stage.node))


async def workflow_starts(stage: Stage) -> None:
    environment = stage.environment
    id_ = incident.workflow_id(environment.dev.cluster, stage.target, environment.nodes.check)
    stage.run = await seen(lambda: incident.started(environment.temporal, id_, stage.failed_at))


async def workflow_waits(stage: Stage) -> State:
    return await seen(lambda: incident.state(stage.environment.temporal, stage.run))


async def workflow_ends(stage: Stage) -> str:
    return await seen(lambda: incident.outcome(stage.environment.temporal, stage.run))


async def find_worker(stage: Stage) -> None:
    stage.pid = stage.environment.worker()


async def kill_worker(stage: Stage) -> None:
    os.kill(stage.pid, signal.SIGKILL)


async def worker_is_back(stage: Stage) -> int:
    return await seen(lambda: stage.environment.other_worker(stage.pid))


async def request_of_node_appears(stage: Stage) -> RequestSeen:
    return await seen(lambda: stage.environment.cluster.request_for(stage.node.name))


async def request_of_node_goes(stage: Stage) -> bool:
    return await seen(lambda: stage.environment.cluster.no_request_for(stage.node.name))


async def request_of_machine_appears(stage: Stage) -> RequestSeen:
    return await seen(lambda: stage.environment.machines.request_for(stage.machine))


async def request_of_machine_goes(stage: Stage) -> bool:
    return await seen(lambda: stage.environment.machines.no_request_for(stage.machine))


async def name_template(stage: Stage) -> bool:
    return await seen(stage.environment.machines.name_template)


async def machine_is_deleted(stage: Stage) -> bool:
    return await seen(lambda: stage.environment.machines.deletion_of(stage.machine))


async def machine_is_gone(stage: Stage) -> bool:
    return await seen(lambda: stage.environment.machines.end_of(stage.machine))


async def machine_is_replaced(stage: Stage) -> MachineSeen:
    return await seen(lambda: stage.environment.machines.newcomer_to(stage.fleet))


async def cluster_api_machine_is_marked(stage: Stage) -> MarkSeen:
    return await seen(lambda: stage.environment.cluster_api.mark_of(stage.machine))


async def cluster_api_machine_is_gone(stage: Stage) -> bool:
    return await seen(lambda: stage.environment.cluster_api.end_of(stage.machine))


async def cluster_api_machine_is_replaced(stage: Stage) -> MachineSeen:
    return await seen(lambda: stage.environment.cluster_api.newcomer_to(stage.fleet))


async def begin_upgrade(stage: Stage) -> bool:
    return await seen(lambda: stage.environment.upgrade.set_progressing("True"))


async def end_upgrade(stage: Stage) -> bool:
    return await seen(lambda: stage.environment.upgrade.set_progressing("False"))


async def all_checks_are_paused(stage: Stage) -> str:
    return ", ".join(await seen(lambda: stage.environment.upgrade.paused(CHECK, SPARE)))


async def only_check_is_paused(stage: Stage) -> str:
    names = await seen(lambda: stage.environment.upgrade.paused(CHECK))
    # Temporal gives a task of the killed worker to the next one after up to ten seconds. If the upgrade ended
    # meanwhile, the check would be unpaused too late for its node.
    await seen(lambda: answer_of_pause(stage.environment.temporal, stage.environment.dev.cluster))
    return ", ".join(names)


async def no_check_is_paused(stage: Stage) -> None:
    await seen(stage.environment.upgrade.paused)


async def machine_is_not_remediated(stage: Stage) -> float:
    return await seen(lambda: stage.environment.upgrade.outlasted(stage.machine))


async def unpause_spare(stage: Stage) -> str:
    return await unpause(stage.environment.temporal, stage.environment.dev.cluster, SPARE)


async def upgrade_pause_ends(stage: Stage) -> str:
    result = await pause_of(stage.environment.temporal, stage.environment.dev.cluster)
    orders = {order.number: order for order in result.memory.orders}
    rows = result.memory.synced.rows if result.memory.synced else ()
    return "; ".join(_in_words(row, orders.get(row.order)) for row in rows)


async def fleet_is_the_same(stage: Stage) -> str:
    before = {machine.uid for machine in stage.fleet}

    async def look() -> str | None:
        now = await stage.environment.machines.healthy_machines() or []
        is_same = {machine.uid for machine in now} == before
        return ", ".join(machine.name for machine in now) if is_same else None

    return await seen(look)


def page(stage: Stage) -> str:
    """The address of the incident in the Temporal UI."""
    return incident.page(stage.environment.dev, stage.run)


def kubectl(arguments: str) -> Callable[[Stage], str]:
    """A command for the cluster of the checks."""
    return lambda stage: stage.environment.kubectl(arguments)


def kubectl_of_workload(arguments: str) -> Callable[[Stage], str]:
    return lambda stage: stage.environment.kubectl_of_workload(arguments)


def _in_words(row: CheckRow, order: PauseOrderRecord | None) -> str:
    by = f" by {order.identity}: {order.reason}" if order else ""
    return f"{row.check.rpartition('/')[2]} {row.state}{by}"
