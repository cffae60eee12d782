"""The texts of the demo, in their order, with the time limit of each wait. This module does not wait."""

from datetime import timedelta

from devcluster.demo.facts import ConditionSeen, NodeSeen, RequestSeen, Run
from devcluster.demo.fixtures import CHECK, CONDITION_SECONDS, NODES, POWER_OFF_SECONDS
from devcluster.demo.line import Line
from workflows.messages import State

SOON = timedelta(seconds=30)
LATER = timedelta(seconds=60)


def devcluster_starts(directory: str) -> str:
    return f"A Kubernetes control plane, Temporal, a detector and a worker start in {directory}."


def fleet_is_healthy() -> Line[list[NodeSeen]]:
    return Line(
        f"{NODES} simulated kubelets report; NodeHealthCheck {CHECK!r} watches their nodes.",
        lambda nodes: (
            f"{', '.join(node.name for node in nodes)} are Ready, and the check counts them as healthy."
        ),
        f"Not all of the {NODES} nodes became Ready and counted as healthy by the check",
        SOON,
    )


def to_look_at(heading: str, *, stays: bool) -> str:
    """The heading of an address or command that works while everything runs."""
    return heading if stays else f"{heading} (until the end of the story; --stay keeps it up)"


def kubelet_stops(node: str) -> Line[object]:
    return Line(
        f"{node} hangs: its kubelet is stopped without a word.",
        lambda _: f"The kubelet of {node} is silent. Kubernetes has to notice by itself.",
        f"The kubelet of {node} could not be stopped",
        SOON,
    )


def node_turns_unknown(node: str) -> Line[ConditionSeen]:
    return Line(
        f"Kubernetes waits for a heartbeat of {node}.",
        lambda ready: f"{node} is Ready={ready.status} since {ready.since}: {ready.reason}.",
        f"{node} did not become Ready=Unknown",
        SOON,
    )


def workflow_starts(node: str) -> Line[Run]:
    """The incident exists in Temporal from the first matching condition on."""
    return Line(
        f"The detector starts a workflow for {node}, at its first matching condition.",
        lambda run: f"Workflow {run.workflow_id} runs.",
        f"No workflow was started for {node}",
        SOON,
    )


def timer_runs() -> Line[State]:
    """The workflow waits for the duration of the check before it acts."""
    return Line(
        f"The condition has to last {CONDITION_SECONDS} s before anything is done.",
        lambda state: f"The workflow says: {state.phase}, {state.details}.",
        "The workflow did not say what it waits for",
        SOON,
    )


def worker_is_killed(pid: int) -> Line[object]:
    return Line(
        f"In the middle of that, the worker (pid {pid}) is killed with -9.",
        lambda _: "The worker is gone. The timer is not: it runs in Temporal.",
        f"The worker with pid {pid} could not be killed",
        SOON,
    )


def worker_is_back(pid: int) -> Line[int]:
    """The new worker knows only the history in Temporal."""
    return Line(
        "The supervisor starts another worker, as a Deployment would.",
        lambda new: f"A new worker runs, pid {new}. It goes on where pid {pid} was killed.",
        "No new worker was started",
        SOON,
    )


def request_appears(node: str) -> Line[RequestSeen]:
    """The step was admitted and taken, once."""
    return Line(
        "When the time is up, the detector is asked whether it is safe to act now.",
        lambda request: f"It is: {request.kind} {request.namespace}/{request.name} is created.",
        f"No remediation request was created for {node}",
        LATER,
    )


def node_reboots(node: str, boot_id: str) -> Line[str]:
    return Line(
        f"The demo remediator switches {node} off for {POWER_OFF_SECONDS} s, and on again.",
        lambda new: f"{node} has booted: boot ID {new[:8]}… where it was {boot_id[:8]}….",
        f"{node} was not power-cycled",
        SOON,
    )


def node_is_ready(node: str) -> Line[ConditionSeen]:
    return Line(
        f"The kubelet of {node} reports again.",
        lambda ready: f"{node} is Ready={ready.status} since {ready.since}.",
        f"{node} did not become Ready again",
        SOON,
    )


def request_disappears() -> Line[object]:
    return Line(
        "The request is no longer needed.",
        lambda _: "The request is deleted.",
        "The remediation request was not deleted",
        SOON,
    )


def workflow_ends() -> Line[str]:
    return Line(
        "The workflow ends.",
        lambda outcome: f"The workflow ended with the outcome {outcome}.",
        "The workflow did not end",
        SOON,
    )


def all_is_well(node: str, seconds: float) -> str:
    return f"{node} is healthy again, {seconds:.0f} s after it hung, and nothing is left behind."


def ends() -> str:
    """Printed before the servers are stopped, which takes some seconds."""
    return "Everything is being ended."


def stays() -> str:
    return "Everything keeps running until Ctrl-C."
