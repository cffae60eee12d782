"""The scenarios of the demo: what happens, what is awaited, and what is said, from top to bottom."""

import os
import signal
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial

from devcluster.cluster_api_crds import NewestVersion
from devcluster.demo.cluster_view import MachineSeen, MachineView, NodeSeen
from devcluster.demo.fixtures import (
    CHECK,
    CONDITION_SECONDS,
    MACHINES,
    NAMESPACE,
    NODES,
    POWER_OFF_SECONDS,
    PROVISIONING_SECONDS,
    SPARE,
    UPGRADE_CONDITION_SECONDS,
)
from devcluster.demo.narrator import LATER, seen
from devcluster.demo.stage import IncidentHandle, Stage, outcome, page
from devcluster.errors import DemoFailedError
from devcluster.simulation.nodes import power_off, power_on
from devcluster.simulation.resources import TEMPLATES
from devcluster.workload_cluster import CLUSTER
from workflows.messages import State
from workflows.upgrade_contracts import UnpauseOrder, UpgradePauseResult, UpgradePauseState, upgrade_pause_id

IS_IT_SAFE = "When the time is up, the detector is asked whether it is safe to act now."
FLEET_OF_MACHINES = (
    f"MachineSet {CHECK!r} makes {MACHINES} Machines; MachineHealthCheck {CHECK!r} watches them."
)
MARGIN_SECONDS = 2


async def node(stage: Stage) -> None:
    """A node of a NodeHealthCheck hangs, and the worker is killed meanwhile."""
    wait, cluster = stage.narrator.wait, stage.cluster
    await seen(cluster.set_up)
    count, check = cluster.demo.nodes, cluster.demo.check
    fleet = await wait(
        f"{count} simulated kubelets report; NodeHealthCheck {check!r} watches their nodes.",
        cluster.healthy_fleet,
        lambda nodes: f"{_names(nodes)} are Ready, and the check counts them as healthy.",
        failure=f"Not all of the {count} nodes became Ready and counted as healthy by the check",
    )
    stage.show("Look for yourself", stage.kubectl("get nodes,nodehealthchecks,powercycleremediations -A"))
    target, began = fleet[len(fleet) // 2], time.monotonic()
    run = await _hang(stage, target, target)
    pid = await _kill_worker(
        stage, "In the middle of that, the worker", "The timer is not: it runs in Temporal."
    )
    await _worker_is_back(stage, pid)
    await _power_cycle(stage, target, target, run)
    seconds = time.monotonic() - began
    stage.narrator.print_success(
        f"{target.name} is healthy again, {seconds:.0f} s after it hung, and nothing is left behind."
    )


async def machine(stage: Stage) -> None:
    """A Machine of a MachineHealthCheck is replaced, and the node of another one is power-cycled."""
    wait, view = stage.narrator.wait, stage.openshift
    fleet = await _machines_are_healthy(stage, view, view.set_up)
    kinds = "machinesets,machines,machinehealthchecks,nodes,powercycleremediations"
    stage.show("Look for yourself", stage.kubectl(f"get {kinds} -A"))
    target, began = fleet[-1], time.monotonic()
    run = await _hang(stage, target, target.node)
    await wait(
        IS_IT_SAFE,
        lambda: view.is_deleted(target),
        lambda _: f"It is: the check names no template, so Machine {target.name} is deleted.",
        failure=f"Machine {target.name} was not deleted",
        within=LATER,
    )
    await wait(
        f"The machine API takes away its hardware and its Node {target.node.name}.",
        lambda: view.is_gone(target),
        lambda _: f"Machine {target.name} is gone.",
        failure=f"Machine {target.name} was not taken away",
    )
    await _workflow_ends(stage, run)
    await _machine_is_replaced(stage, view, fleet)
    await wait(
        f"MachineHealthCheck {CHECK!r} gets a {TEMPLATES.kind}.",
        view.name_template,
        lambda _: "From now on, Machines are not deleted: a remediator is asked to power-cycle their nodes.",
        failure="The check did not take the template",
    )
    target = fleet[0]  # not the replacement, whose step back-off would delay by a minute
    run = await _hang(stage, target, target.node)
    await _power_cycle(stage, target, target.node, run)
    seconds = time.monotonic() - began
    stage.narrator.print_success(
        f"One Machine was replaced and one node power-cycled, {seconds:.0f} s after the first hung; "
        "nothing is left behind."
    )


async def cluster_api(stage: Stage) -> None:
    """A Machine of Cluster API, whose node is in a workload cluster, is marked; its owner replaces it."""
    wait, view = stage.narrator.wait, stage.cluster_api
    fleet = await _machines_are_healthy(
        stage,
        view,
        view.set_up,
        f"MachineSet {CHECK!r} makes {MACHINES} Machines in the management cluster, whose nodes "
        f"join another one, {CLUSTER!r}; MachineHealthCheck {CHECK!r} watches both.",
    )
    stage.show("The management cluster", stage.kubectl("get cluster-api -A"))
    stage.show("The workload cluster", stage.kubectl("get nodes", stage.dev.workload_kubeconfig))
    target, began = fleet[-1], time.monotonic()
    run = await _hang(stage, target, target.node)
    await wait(
        IS_IT_SAFE,
        lambda: view.mark_of(target),
        lambda mark: (
            f"It is: Machine {target.name} is marked for its owner, HealthCheckSucceeded=False and "
            f"OwnerRemediated=False, {mark.reason}: {' '.join(mark.message.split())}"
        ),
        failure=f"Machine {target.name} was not marked",
        within=LATER,
    )
    await wait(
        f"Its owner, MachineSet {CHECK!r}, finds the mark and deletes it. Paramedic does not.",
        lambda: view.is_gone(target),
        lambda _: f"Machine {target.name} is gone, and its Node {target.node.name} of {CLUSTER!r} with it.",
        failure=f"Machine {target.name} was not taken away",
    )
    await _workflow_ends(stage, run)
    await _machine_is_replaced(stage, view, fleet)
    seconds = time.monotonic() - began
    stage.narrator.print_success(
        f"One Machine was replaced by its owner, {seconds:.0f} s after its node hung; nothing is left behind."
    )


async def upgrade(stage: Stage) -> None:
    """The node of a Machine is away during an upgrade; its check is paused, so it is not remediated."""
    wait, view, cluster = stage.narrator.wait, stage.openshift, stage.cluster
    pause = stage.temporal.get_workflow_handle(
        upgrade_pause_id(stage.dev.cluster), result_type=UpgradePauseResult
    )
    fleet = await _machines_are_healthy(stage, view, view.set_up_upgrade)
    commands = "get clusterversions,machinehealthchecks,machines -A -o yaml"
    stage.show("Look for yourself", stage.kubectl(commands))
    target = fleet[-1]
    await seen(lambda: view.set_progressing("True"))
    await wait(
        "An upgrade begins: ClusterVersion says Progressing=True.",
        lambda: view.are_paused(CHECK, SPARE),
        lambda _: f"MachineHealthChecks {CHECK}, {SPARE} are paused, and marked for the upgrade.",
        failure="Not every MachineHealthCheck was paused",
        within=LATER,
    )
    await _stop_kubelet(stage, target.node)

    async def outlasted() -> float | None:
        """The seconds for which its node has hung, once they exceed the timeout of the check."""
        if await view.is_deleted(target):
            raise DemoFailedError(f"Machine {target.name} was deleted during the upgrade.")
        ready = await cluster.ready_condition(target.node.name, "Unknown")
        if ready is None:
            return None
        since = datetime.fromisoformat(ready["lastTransitionTime"])
        hung = (datetime.now(UTC) - since).total_seconds()
        return hung if hung > UPGRADE_CONDITION_SECONDS + MARGIN_SECONDS else None

    await wait(
        f"Without the pause, Machine {target.name} would be deleted after {UPGRADE_CONDITION_SECONDS} s.",
        outlasted,
        lambda hung: f"Its node has been away for {hung:.0f} s, and it was not remediated.",
        failure=f"{target.node.name} did not stay away",
        within=LATER,
    )

    async def unpause() -> str:
        """Send the order of `paramedic upgrade unpause`; the workflow's answer."""
        order = UnpauseOrder(check=f"{NAMESPACE}/{SPARE}", reason="spare nodes hang", identity="the admin")
        answer: str = await pause.execute_update("unpause", order, result_type=str)
        return answer

    await wait(
        f"An admin wants one check to work: paramedic upgrade unpause {SPARE} --reason 'spare nodes hang'.",
        unpause,
        lambda answer: f"The workflow answers: it {answer}.",
        failure="The workflow did not take the order",
    )
    pid = await _kill_worker(
        stage,
        "At that moment the worker",
        "The order is not: Temporal keeps it, and the list of paused checks.",
    )
    await _worker_is_back(stage, pid)

    async def only_check_is_paused() -> bool:
        # Temporal gives a task of the killed worker to the next one after up to ten seconds. If the upgrade
        # ended meanwhile, the check would be unpaused too late for its node.
        await pause.query("state", result_type=UpgradePauseState)
        return await view.are_paused(CHECK)

    await wait(
        f"{SPARE!r} is not paused again in this upgrade.",
        only_check_is_paused,
        lambda _: f"Only {CHECK} is paused.",
        failure=f"{SPARE!r} did not stay unpaused",
    )
    await seen(lambda: view.set_progressing("False"))
    await wait(
        f"The upgrade ends: Progressing=False. At that moment the node of {CHECK!r} still boots.",
        view.are_paused,
        lambda _: "No MachineHealthCheck is paused any more.",
        failure="Not every MachineHealthCheck was unpaused",
    )
    # After the end, so that the node is away when its check is unpaused.
    await seen(lambda: cluster.change_node(target.node.name, power_on()))
    await wait(
        f"The time of {target.node.name} counts from the end of the upgrade, not from when it went away.",
        lambda: cluster.ready_condition(target.node.name, "True"),
        lambda ready: f"{target.node.name} is Ready=True since {ready['lastTransitionTime']}, in time.",
        failure=f"{target.node.name} did not become Ready again",
    )
    await wait(
        "The workflow ends with the list of the checks that it handled.",
        pause.result,
        lambda result: f"{_handled(result)}.",
        failure="The upgrade pause did not end",
    )

    async def same_fleet() -> bool:
        now = await view.healthy_machines()
        return {machine.uid for machine in now} == {machine.uid for machine in fleet}

    await wait(
        "The check counts its Machines.",
        same_fleet,
        lambda _: f"{_names(fleet)}: the same as before the upgrade.",
        failure="The Machines are not the same as before",
    )
    stage.narrator.print_success(
        "The cluster was upgraded, no node was remediated, and nothing is left behind."
    )


def _names(targets: Sequence[NodeSeen | MachineSeen]) -> str:
    return ", ".join(target.name for target in targets)


def _handled(result: UpgradePauseResult) -> str:
    orders = {order.number: order for order in result.memory.orders}
    rows = []
    for row in result.memory.synced.rows if result.memory.synced else ():
        order = orders.get(row.order)
        by = f" by {order.identity}: {order.reason}" if order else ""
        rows.append(f"{row.check.rpartition('/')[2]} {row.state}{by}")
    return "; ".join(rows)


async def _machines_are_healthy(
    stage: Stage,
    view: MachineView,
    set_up: Callable[[], Awaitable[bool]],
    before: str = FLEET_OF_MACHINES,
) -> list[MachineSeen]:
    await seen(set_up)
    return await stage.narrator.wait(
        before,
        view.healthy_machines,
        lambda fleet: (
            ", ".join(f"{machine.name} ({machine.node.name})" for machine in fleet)
            + " run, and the check counts them as healthy."
        ),
        failure=f"Not all of the {MACHINES} Machines ran and counted as healthy by the check",
        within=LATER,
    )


async def _stop_kubelet(stage: Stage, target: NodeSeen) -> None:
    name, cluster, options = target.name, stage.cluster, stage.options
    await stage.narrator.wait(
        f"{name} hangs: its kubelet is stopped without a word.",
        lambda: cluster.change_node(name, power_off()),
        lambda _: f"The kubelet of {name} is silent. Kubernetes has to notice by itself.",
        failure=f"The kubelet of {name} could not be stopped",
    )
    await stage.narrator.wait(
        options.silence.format(node=name),
        lambda: cluster.ready_condition(name, "Unknown"),
        lambda ready: f"{name} is Ready=Unknown since {ready['lastTransitionTime']}: {ready['reason']}.",
        failure=f"{name} did not become Ready=Unknown",
        within=options.silence_noticed_within,
        advice=options.advice,
    )


async def _hang(stage: Stage, target: NodeSeen | MachineSeen, of_target: NodeSeen) -> IncidentHandle:
    """Stop the kubelet of the target's node; the run of the incident, once it waits."""
    wait, since = stage.narrator.wait, datetime.now(UTC)
    await _stop_kubelet(stage, of_target)

    run = await wait(
        f"The detector starts a workflow for {target.name}, at its first matching condition.",
        lambda: stage.incident(target, since),
        lambda run: f"Workflow {run.id} runs.",
        failure=f"No workflow was started for {target.name}",
    )
    stage.show("Its page", page(stage.dev, run.id, run.run_id or ""))
    await wait(
        f"The condition has to last {CONDITION_SECONDS} s before anything is done.",
        partial(run.query, "state", result_type=State),
        lambda state: f"The workflow says: {state.phase}, {state.details}.",
        failure="The workflow did not say what it waits for",
    )
    return run


async def _kill_worker(stage: Stage, when: str, what_stays: str) -> int:
    pid = await stage.process.other_worker()
    if pid is None:
        raise DemoFailedError("No worker runs.")

    async def kill() -> bool:
        os.kill(pid, signal.SIGKILL)
        return True

    await stage.narrator.wait(
        f"{when} (pid {pid}) is killed with -9.",
        kill,
        lambda _: f"The worker is gone. {what_stays}",
        failure=f"The worker with pid {pid} could not be killed",
    )
    return pid


async def _worker_is_back(stage: Stage, killed: int) -> None:
    await stage.narrator.wait(
        "The supervisor starts another worker, as a Deployment would.",
        lambda: stage.process.other_worker(killed),
        lambda pid: f"A new worker runs, pid {pid}. It goes on where pid {killed} was killed.",
        failure="No new worker was started",
    )


async def _power_cycle(
    stage: Stage, target: NodeSeen | MachineSeen, of_target: NodeSeen, run: IncidentHandle
) -> None:
    """Follow a request from its creation to its deletion, and the incident to its end."""
    wait, cluster, name = stage.narrator.wait, stage.cluster, of_target.name
    await wait(
        IS_IT_SAFE,
        lambda: cluster.request_for(target.name),
        lambda request: f"It is: {request} is created.",
        failure=f"No remediation request was created for {target.name}",
        within=LATER,
    )
    await wait(
        f"The demo remediator switches {name} off for {POWER_OFF_SECONDS} s, and on again.",
        lambda: cluster.new_boot(of_target),
        lambda boot: f"{name} has booted: boot ID {boot:.8}… where it was {of_target.boot_id:.8}….",
        failure=f"{name} was not power-cycled",
    )
    await wait(
        f"The kubelet of {name} reports again.",
        lambda: cluster.ready_condition(name, "True"),
        lambda ready: f"{name} is Ready=True since {ready['lastTransitionTime']}.",
        failure=f"{name} did not become Ready again",
    )
    await wait(
        "The request is no longer needed.",
        lambda: cluster.has_no_request_for(target.name),
        lambda _: "The request is deleted.",
        failure="The remediation request was not deleted",
    )
    await _workflow_ends(stage, run)


async def _workflow_ends(stage: Stage, run: IncidentHandle) -> None:
    await stage.narrator.wait(
        "The workflow ends.",
        lambda: outcome(run),
        lambda outcome: f"The workflow ended with the outcome {outcome}.",
        failure="The workflow did not end",
    )


async def _machine_is_replaced(stage: Stage, view: MachineView, fleet: Sequence[MachineSeen]) -> None:
    await stage.narrator.wait(
        f"MachineSet {CHECK!r} makes another one, whose hardware takes {PROVISIONING_SECONDS} s.",
        lambda: view.newcomer_to(fleet),
        lambda new: f"Machine {new.name} runs as {new.node.name}: {MACHINES} of {MACHINES} are healthy.",
        failure="No other Machine became healthy in its place",
    )


class Scenario(StrEnum):
    """The failure that the demo shows, and its remediation."""

    NODE = "node"
    MACHINE = "machine"
    CLUSTER_API = "cluster-api"
    UPGRADE = "upgrade"


@dataclass(frozen=True)
class Script:
    """The options of `paramedic dev` for the simulation, and the scenario to play on it."""

    dev_arguments: tuple[str, ...]
    play: Callable[[Stage], Awaitable[None]]


PROVISIONING = ("--provisioning", str(PROVISIONING_SECONDS))
SCRIPTS: Mapping[Scenario, Script] = {
    Scenario.NODE: Script(("--simulate-nodes", str(NODES)), node),
    Scenario.MACHINE: Script(("--machines", *PROVISIONING), machine),
    Scenario.CLUSTER_API: Script(("--cluster-api", NewestVersion.V1BETA2, *PROVISIONING), cluster_api),
    Scenario.UPGRADE: Script(("--machines", *PROVISIONING), upgrade),
}
