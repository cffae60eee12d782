"""The scenarios of the demo, as rows: what happens, what is awaited, and what is said."""

from collections.abc import Mapping
from dataclasses import dataclass

from devcluster.cluster_api_crds import NewestVersion
from devcluster.demo import actions, fixtures
from devcluster.demo.actions import kubectl, kubectl_of_workload
from devcluster.demo.settings import Scenario
from devcluster.demo.stage import LATER, DemoStep, Do, Row, Show, Success

STOP_KUBELET = (
    DemoStep(
        before="{node.name} hangs: its kubelet is stopped without a word.",
        wait=actions.stop_kubelet,
        after="The kubelet of {node.name} is silent. Kubernetes has to notice by itself.",
        failure="The kubelet of {node.name} could not be stopped",
    ),
    DemoStep(
        before="Kubernetes waits for a heartbeat of {node.name}.",
        wait=actions.node_is_unknown,
        after="{node.name} is Ready={it.status} since {it.since}: {it.reason}.",
        failure="{node.name} did not become Ready=Unknown",
    ),
)
HANG = (
    *STOP_KUBELET,
    DemoStep(
        before="The detector starts a workflow for {target.name}, at its first matching condition.",
        wait=actions.workflow_starts,
        after="Workflow {run.workflow_id} runs.",
        failure="No workflow was started for {target.name}",
    ),
    Show("Its page", actions.page),
    DemoStep(
        before="The condition has to last {condition_seconds} s before anything is done.",
        wait=actions.workflow_waits,
        after="The workflow says: {it.phase}, {it.details}.",
        failure="The workflow did not say what it waits for",
    ),
)
WORKER_IS_BACK = DemoStep(
    before="The supervisor starts another worker, as a Deployment would.",
    wait=actions.worker_is_back,
    after="A new worker runs, pid {it}. It goes on where pid {pid} was killed.",
    failure="No new worker was started",
)
REBOOT = (
    DemoStep(
        before="The demo remediator switches {node.name} off for {power_off_seconds} s, and on again.",
        wait=actions.node_reboots,
        after="{node.name} has booted: boot ID {it:.8}… where it was {node.boot_id:.8}….",
        failure="{node.name} was not power-cycled",
    ),
    DemoStep(
        before="The kubelet of {node.name} reports again.",
        wait=actions.node_is_ready,
        after="{node.name} is Ready={it.status} since {it.since}.",
        failure="{node.name} did not become Ready again",
    ),
)
WORKFLOW_ENDS = DemoStep(
    before="The workflow ends.",
    wait=actions.workflow_ends,
    after="The workflow ended with the outcome {it}.",
    failure="The workflow did not end",
)
IS_IT_SAFE = "When the time is up, the detector is asked whether it is safe to act now."
REPLACEMENT = "MachineSet {check!r} makes another one, whose hardware takes {provisioning_seconds} s."
REPLACED = "Machine {it.name} runs as {it.node.name}: {machine_count} of {machine_count} are healthy."
NOT_REPLACED = "No other Machine became healthy in its place"
FLEET_RUNS = "{it} run, and the check counts them as healthy."
FLEET_DOES_NOT_RUN = "Not all of the {machine_count} Machines ran and counted as healthy by the check"
REQUEST_APPEARED = "It is: {it.kind} {it.namespace}/{it.name} is created."
NO_REQUEST = "No remediation request was created for {target.name}"
REQUEST_GOES, REQUEST_WENT = "The request is no longer needed.", "The request is deleted."
REQUEST_STAYS = "The remediation request was not deleted"

NODE: tuple[Row, ...] = (
    DemoStep(
        before="{node_count} simulated kubelets report; NodeHealthCheck {check!r} watches their nodes.",
        wait=actions.nodes_are_healthy,
        after="{it} are Ready, and the check counts them as healthy.",
        failure="Not all of the {node_count} nodes became Ready and counted as healthy by the check",
    ),
    Show("Look for yourself", kubectl("get nodes,nodehealthchecks,powercycleremediations -A")),
    Do(actions.aim_at_middle),
    *HANG,
    Do(actions.find_worker),
    DemoStep(
        before="In the middle of that, the worker (pid {pid}) is killed with -9.",
        wait=actions.kill_worker,
        after="The worker is gone. The timer is not: it runs in Temporal.",
        failure="The worker with pid {pid} could not be killed",
    ),
    WORKER_IS_BACK,
    DemoStep(
        before=IS_IT_SAFE,
        wait=actions.request_of_node_appears,
        after=REQUEST_APPEARED,
        failure=NO_REQUEST,
        within=LATER,
    ),
    *REBOOT,
    DemoStep(
        before=REQUEST_GOES, wait=actions.request_of_node_goes, after=REQUEST_WENT, failure=REQUEST_STAYS
    ),
    WORKFLOW_ENDS,
    Success("{node.name} is healthy again, {elapsed:.0f} s after it hung, and nothing is left behind."),
)

FLEET_OF_MACHINES = (
    "MachineSet {check!r} makes {machine_count} Machines; MachineHealthCheck {check!r} watches them."
)
MACHINE: tuple[Row, ...] = (
    DemoStep(
        before=FLEET_OF_MACHINES,
        wait=actions.machines_are_healthy,
        after=FLEET_RUNS,
        failure=FLEET_DOES_NOT_RUN,
    ),
    Show(
        "Look for yourself",
        kubectl("get machinesets,machines,machinehealthchecks,nodes,powercycleremediations -A"),
    ),
    Do(actions.aim_at_last),
    *HANG,
    DemoStep(
        before=IS_IT_SAFE,
        wait=actions.machine_is_deleted,
        after="It is: the check names no template, so Machine {target.name} is deleted.",
        failure="Machine {target.name} was not deleted",
        within=LATER,
    ),
    DemoStep(
        before="The machine API takes away its hardware and its Node {node.name}.",
        wait=actions.machine_is_gone,
        after="Machine {target.name} is gone.",
        failure="Machine {target.name} was not taken away",
    ),
    WORKFLOW_ENDS,
    DemoStep(before=REPLACEMENT, wait=actions.machine_is_replaced, after=REPLACED, failure=NOT_REPLACED),
    DemoStep(
        before="MachineHealthCheck {check!r} gets a {template_kind}.",
        wait=actions.name_template,
        after="From now on, Machines are not deleted: a remediator is asked to power-cycle their nodes.",
        failure="The check did not take the template",
    ),
    Do(actions.aim_at_first),  # not at the replacement, whose step back-off would delay by a minute
    *HANG,
    DemoStep(
        before=IS_IT_SAFE,
        wait=actions.request_of_machine_appears,
        after=REQUEST_APPEARED,
        failure=NO_REQUEST,
        within=LATER,
    ),
    *REBOOT,
    DemoStep(
        before=REQUEST_GOES, wait=actions.request_of_machine_goes, after=REQUEST_WENT, failure=REQUEST_STAYS
    ),
    WORKFLOW_ENDS,
    Success(
        "One Machine was replaced and one node power-cycled, {elapsed:.0f} s after the first hung; "
        "nothing is left behind."
    ),
)

CLUSTER_API: tuple[Row, ...] = (
    DemoStep(
        before=(
            "MachineSet {check!r} makes {machine_count} Machines in the management cluster, whose nodes "
            "join another one, {workload!r}; MachineHealthCheck {check!r} watches both."
        ),
        wait=actions.cluster_api_machines_are_healthy,
        after=FLEET_RUNS,
        failure=FLEET_DOES_NOT_RUN,
        within=LATER,
    ),
    Show("The management cluster", kubectl("get cluster-api -A")),
    Show("The workload cluster", kubectl_of_workload("get nodes")),
    Do(actions.aim_at_last),
    *HANG,
    DemoStep(
        before=IS_IT_SAFE,
        wait=actions.cluster_api_machine_is_marked,
        after=(
            "It is: Machine {target.name} is marked for its owner, HealthCheckSucceeded=False and "
            "OwnerRemediated=False, {it.reason}: {it.message}"
        ),
        failure="Machine {target.name} was not marked",
        within=LATER,
    ),
    DemoStep(
        before="Its owner, MachineSet {check!r}, finds the mark and deletes it. Paramedic does not.",
        wait=actions.cluster_api_machine_is_gone,
        after="Machine {target.name} is gone, and its Node {node.name} of {workload!r} with it.",
        failure="Machine {target.name} was not taken away",
    ),
    WORKFLOW_ENDS,
    DemoStep(
        before=REPLACEMENT,
        wait=actions.cluster_api_machine_is_replaced,
        after=REPLACED,
        failure=NOT_REPLACED,
    ),
    Success(
        "One Machine was replaced by its owner, {elapsed:.0f} s after its node hung; nothing is left behind."
    ),
)

UPGRADE: tuple[Row, ...] = (
    DemoStep(
        before=FLEET_OF_MACHINES,
        wait=actions.machines_of_upgrade_are_healthy,
        after=FLEET_RUNS,
        failure=FLEET_DOES_NOT_RUN,
    ),
    Show("Look for yourself", kubectl("get clusterversions,machinehealthchecks,machines -A -o yaml")),
    Do(actions.aim_at_last),
    Do(actions.begin_upgrade),
    DemoStep(
        before="An upgrade begins: ClusterVersion says Progressing=True.",
        wait=actions.all_checks_are_paused,
        after="MachineHealthChecks {it} are paused, and marked for the upgrade.",
        failure="Not every MachineHealthCheck was paused",
        within=LATER,
    ),
    *STOP_KUBELET,
    DemoStep(
        before="Without the pause, Machine {target.name} would be deleted after {timeout_seconds} s.",
        wait=actions.machine_is_not_remediated,
        after="Its node has been away for {it:.0f} s, and it was not remediated.",
        failure="{node.name} did not stay away",
        within=LATER,
    ),
    DemoStep(
        before=(
            "An admin wants one check to work: paramedic upgrade unpause {spare} --reason 'spare nodes hang'."
        ),
        wait=actions.unpause_spare,
        after="The workflow answers: it {it}.",
        failure="The workflow did not take the order",
    ),
    Do(actions.find_worker),
    DemoStep(
        before="At that moment the worker (pid {pid}) is killed with -9.",
        wait=actions.kill_worker,
        after="The worker is gone. The order is not: Temporal keeps it, and the list of paused checks.",
        failure="The worker with pid {pid} could not be killed",
    ),
    WORKER_IS_BACK,
    DemoStep(
        before="{spare!r} is not paused again in this upgrade.",
        wait=actions.only_check_is_paused,
        after="Only {it} is paused.",
        failure="{spare!r} did not stay unpaused",
    ),
    Do(actions.end_upgrade),
    DemoStep(
        before="The upgrade ends: Progressing=False. At that moment the node of {check!r} still boots.",
        wait=actions.no_check_is_paused,
        after="No MachineHealthCheck is paused any more.",
        failure="Not every MachineHealthCheck was unpaused",
    ),
    Do(actions.start_kubelet),  # after the end, so that the node is away when its check is unpaused
    DemoStep(
        before="The time of {node.name} counts from the end of the upgrade, not from when it went away.",
        wait=actions.node_is_ready,
        after="{node.name} is Ready={it.status} since {it.since}, in time.",
        failure="{node.name} did not become Ready again",
    ),
    DemoStep(
        before="The workflow ends with the list of the checks that it handled.",
        wait=actions.upgrade_pause_ends,
        after="{it}.",
        failure="The upgrade pause did not end",
    ),
    DemoStep(
        before="The check counts its Machines.",
        wait=actions.fleet_is_the_same,
        after="{it}: the same as before the upgrade.",
        failure="The Machines are not the same as before",
    ),
    Success("The cluster was upgraded, no node was remediated, and nothing is left behind."),
)


@dataclass(frozen=True)
class Script:
    """The options of `paramedic dev` for the simulation, and the rows to play on it."""

    dev_arguments: tuple[str, ...]
    rows: tuple[Row, ...]


PROVISIONING = ("--provisioning", str(fixtures.PROVISIONING_SECONDS))
SCRIPTS: Mapping[Scenario, Script] = {
    Scenario.NODE: Script(("--simulate-nodes", str(fixtures.NODES)), NODE),
    Scenario.MACHINE: Script(("--machines", *PROVISIONING), MACHINE),
    Scenario.CLUSTER_API: Script(("--cluster-api", NewestVersion.V1BETA2, *PROVISIONING), CLUSTER_API),
    Scenario.UPGRADE: Script(("--machines", *PROVISIONING), UPGRADE),
}
