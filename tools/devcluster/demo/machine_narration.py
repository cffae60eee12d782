"""The texts of the scenario `machine` that differ from narration.py. This module does not wait."""

from devcluster.demo.facts import MachineSeen
from devcluster.demo.fixtures import CHECK, MACHINES, PROVISIONING_SECONDS
from devcluster.demo.line import Line
from devcluster.demo.narration import LATER, SOON
from devcluster.simulation.resources import TEMPLATES


def fleet_is_healthy() -> Line[list[MachineSeen]]:
    return Line(
        f"MachineSet {CHECK!r} makes {MACHINES} Machines; MachineHealthCheck {CHECK!r} watches them.",
        lambda machines: f"{_in_words(machines)} run, and the check counts them as healthy.",
        f"Not all of the {MACHINES} Machines ran and counted as healthy by the check",
        SOON,
    )


def machine_is_deleted(machine: str) -> Line[object]:
    """The step was admitted and taken, once."""
    return Line(
        "When the time is up, the detector is asked whether it is safe to act now.",
        lambda _: f"It is: the check names no template, so Machine {machine} is deleted.",
        f"Machine {machine} was not deleted",
        LATER,
    )


def machine_is_gone(machine: MachineSeen) -> Line[object]:
    """The machine API removes hardware and Node."""
    return Line(
        f"The machine API takes away its hardware and its Node {machine.node.name}.",
        lambda _: f"Machine {machine.name} is gone.",
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


def template_is_named() -> Line[object]:
    """From this line on, no Machine is deleted."""
    return Line(
        f"MachineHealthCheck {CHECK!r} gets a {TEMPLATES.kind}.",
        lambda _: "From now on, Machines are not deleted: a remediator is asked to power-cycle their nodes.",
        "The check did not take the template",
        SOON,
    )


def all_is_well(seconds: float) -> str:
    return (
        f"One Machine was replaced and one node power-cycled, {seconds:.0f} s after the first hung; "
        "nothing is left behind."
    )


def _in_words(machines: list[MachineSeen]) -> str:
    return ", ".join(f"{machine.name} ({machine.node.name})" for machine in machines)
