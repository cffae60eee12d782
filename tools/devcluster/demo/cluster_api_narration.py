"""The texts of the scenario `cluster-api` that differ from narration.py. This module does not wait."""

from devcluster.demo.facts import MachineSeen, MarkSeen
from devcluster.demo.fixtures import CHECK, MACHINES, PROVISIONING_SECONDS
from devcluster.demo.line import Line
from devcluster.demo.narration import LATER, SOON
from devcluster.dev_cluster_api import CLUSTER


def fleet_is_healthy() -> Line[list[MachineSeen]]:
    return Line(
        f"MachineSet {CHECK!r} makes {MACHINES} Machines in the management cluster, whose nodes join "
        f"another one, {CLUSTER!r}; MachineHealthCheck {CHECK!r} watches both.",
        lambda machines: f"{_in_words(machines)} run, and the check counts them as healthy.",
        f"Not all of the {MACHINES} Machines ran and counted as healthy by the check",
        LATER,
    )


def machine_is_marked(machine: str) -> Line[MarkSeen]:
    """The step was admitted and taken, once."""
    return Line(
        "When the time is up, the detector is asked whether it is safe to act now.",
        lambda mark: (
            f"It is: Machine {machine} is marked for its owner, HealthCheckSucceeded=False and "
            f"OwnerRemediated=False, {mark.reason}: {_on_one_line(mark.message)}"
        ),
        f"Machine {machine} was not marked",
        LATER,
    )


def machine_is_gone(machine: MachineSeen) -> Line[object]:
    return Line(
        f"Its owner, MachineSet {CHECK!r}, finds the mark and deletes it. Paramedic does not.",
        lambda _: f"Machine {machine.name} is gone, and its Node {machine.node.name} of {CLUSTER!r} with it.",
        f"Machine {machine.name} was not taken away",
        SOON,
    )


def replacement_is_healthy() -> Line[MachineSeen]:
    return Line(
        f"MachineSet {CHECK!r} makes another one, whose hardware takes {PROVISIONING_SECONDS} s.",
        lambda machine: (
            f"Machine {machine.name} runs as {machine.node.name}: {MACHINES} of {MACHINES} are healthy."
        ),
        "No other Machine became healthy in its place",
        SOON,
    )


def all_is_well(seconds: float) -> str:
    return (
        f"One Machine was replaced by its owner, {seconds:.0f} s after its node hung; nothing is left behind."
    )


def _in_words(machines: list[MachineSeen]) -> str:
    return ", ".join(f"{machine.name} ({machine.node.name})" for machine in machines)


def _on_one_line(message: str) -> str:
    return " ".join(message.split())
