"""The texts of the scenario `upgrade` that differ from the others. This module does not wait."""

from devcluster.demo.facts import ConditionSeen, MachineSeen
from devcluster.demo.fixtures import CHECK
from devcluster.demo.line import Line
from devcluster.demo.narration import LATER, SOON
from devcluster.demo.upgrade_fixtures import SPARE, TIMEOUT_SECONDS
from health.upgrade.memory import Handled
from workflows.upgrade_contracts import UpgradePauseResult


def checks_are_paused() -> Line[list[str]]:
    return Line(
        "An upgrade begins: ClusterVersion says Progressing=True.",
        lambda names: f"MachineHealthChecks {', '.join(names)} are paused, and marked for the upgrade.",
        "Not every MachineHealthCheck was paused",
        LATER,
    )


def no_machine_is_remediated(machine: MachineSeen) -> Line[float]:
    """The time after which the check would have remediated it passes."""
    return Line(
        f"Without the pause, Machine {machine.name} would be deleted after {TIMEOUT_SECONDS} s.",
        lambda hung: f"Its node has been away for {hung:.0f} s, and it was not remediated.",
        f"{machine.node.name} did not stay away",
        LATER,
    )


def spare_is_unpaused() -> Line[str]:
    return Line(
        f"An admin wants one check to work: paramedic upgrade unpause {SPARE} --reason 'spare nodes hang'.",
        lambda answer: f"The workflow answers: it {answer}.",
        "The workflow did not take the order",
        SOON,
    )


def worker_is_killed(pid: int) -> Line[object]:
    """The worker dies before it has acted on the order."""
    return Line(
        f"At that moment the worker (pid {pid}) is killed with -9.",
        lambda _: "The worker is gone. The order is not: Temporal keeps it, and the list of paused checks.",
        f"The worker with pid {pid} could not be killed",
        SOON,
    )


def spare_stays_unpaused() -> Line[list[str]]:
    return Line(
        f"{SPARE!r} is not paused again in this upgrade.",
        lambda names: f"Only {', '.join(names)} is paused.",
        f"{SPARE!r} did not stay unpaused",
        SOON,
    )


def checks_are_unpaused() -> Line[object]:
    return Line(
        f"The upgrade ends: Progressing=False. At that moment the node of {CHECK!r} still boots.",
        lambda _: "No MachineHealthCheck is paused any more.",
        "Not every MachineHealthCheck was unpaused",
        SOON,
    )


def pause_ends() -> Line[UpgradePauseResult]:
    """The result lists each check and what was done with it."""
    return Line(
        "The workflow ends with the list of the checks that it handled.",
        lambda result: "; ".join(map(_in_words, result.checks)) + ".",
        "The upgrade pause did not end",
        SOON,
    )


def node_has_its_time(node: str) -> Line[ConditionSeen]:
    """The unhealthy time starts again when the check is unpaused."""
    return Line(
        f"The time of {node} counts from the end of the upgrade, not from when it went away.",
        lambda ready: f"{node} is Ready={ready.status} since {ready.since}, in time.",
        f"{node} did not become Ready again",
        SOON,
    )


def fleet_is_the_same() -> Line[list[MachineSeen]]:
    return Line(
        "The check counts its Machines.",
        lambda machines: f"{', '.join(one.name for one in machines)}: the same as before the upgrade.",
        "The Machines are not the same as before",
        SOON,
    )


def all_is_well() -> str:
    return "The cluster was upgraded, no node was remediated, and nothing is left behind."


def _in_words(check: Handled) -> str:
    who = f" by {check.identity}: {check.reason}" if check.identity else ""
    return f"{check.reference.name} {check.how}{who}"
