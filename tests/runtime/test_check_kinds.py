"""Which kinds of health check a process handles, by variable and by option."""

import os
import sys
from functools import partial

import pytest

from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from runtime.process import run_process
from runtime.settings import Settings, SettingsError
from tests.runtime.test_process import BOTH, ended
from tests.support.cluster.forked import run

NODES, MACHINES = "nodehealthchecks.remediation.medik8s.io", "machinehealthchecks.machine.openshift.io"
OF_CLUSTER_API = "machinehealthchecks.cluster.x-k8s.io"
_KINDS = f"{NODES}, {MACHINES}, {OF_CLUSTER_API}"
REFUSAL = f"PARAMEDIC_CHECK_KINDS: there is no kind 'x', there are {_KINDS} (found 'x')\n"


def of(environment: dict[str, str]) -> tuple[str, ...]:
    settings = Settings.from_environment({"PARAMEDIC_CLUSTER": "c"} | environment)
    return tuple(kind.kind for kind in settings.check_kinds)


def test_node_health_checks_alone_are_handled_by_default() -> None:
    assert of({}) == (NODE_HEALTH_CHECK.kind,)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        (MACHINES, (MACHINE_HEALTH_CHECK.kind,)),
        (f"{NODES}, {MACHINES}", (NODE_HEALTH_CHECK.kind, MACHINE_HEALTH_CHECK.kind)),
        (f"{NODES},{NODES}", (NODE_HEALTH_CHECK.kind,)),
    ],
)
def test_kinds_are_a_list_of_names_as_kubectl_has_them(text: str, kinds: tuple[str, ...]) -> None:
    assert of({"PARAMEDIC_CHECK_KINDS": text}) == kinds


ADDED = {"PARAMEDIC_CHECK_KINDS_A": MACHINES, "PARAMEDIC_CHECK_KINDS_B": OF_CLUSTER_API}


def test_kinds_that_components_add_come_beside_node_health_checks_and_each_other() -> None:
    settings = Settings.from_environment({"PARAMEDIC_CLUSTER": "c"} | ADDED)
    assert [kind.resource_name for kind in settings.check_kinds] == [NODES, MACHINES, OF_CLUSTER_API]
    assert of({"PARAMEDIC_CHECK_KINDS_A": f"{NODES},{MACHINES}"}) == (
        NODE_HEALTH_CHECK.kind,
        MACHINE_HEALTH_CHECK.kind,
    )


def test_list_of_all_kinds_stands_above_what_components_add() -> None:
    assert of(ADDED | {"PARAMEDIC_CHECK_KINDS": NODES}) == (NODE_HEALTH_CHECK.kind,)


def test_unknown_kind_that_a_component_adds_is_refused_by_the_name_of_its_variable() -> None:
    with pytest.raises(
        SettingsError, match=r"^PARAMEDIC_CHECK_KINDS_B: there is no kind 'x', .*\(found 'x'\)$"
    ):
        of(ADDED | {"PARAMEDIC_CHECK_KINDS_B": "x"})


@pytest.mark.parametrize("text", ["", "nodes", f"{NODES},"])
def test_kind_that_is_unknown_is_refused_by_name_and_value(text: str) -> None:
    with pytest.raises(SettingsError, match=r"PARAMEDIC_CHECK_KINDS: there is no kind .* \(found "):
        of({"PARAMEDIC_CHECK_KINDS": text})


@BOTH
@pytest.mark.parametrize("given", [("--check-kinds", "x"), ("--check-kinds=x",)])
async def test_option_is_refused_as_the_variable_is(name: str, given: tuple[str, ...]) -> None:
    environment = {"PARAMEDIC_CLUSTER": "c", "PARAMEDIC_CHECK_KINDS": NODES}
    assert await ended(name, *given, **environment) == (2, REFUSAL)


@BOTH
async def test_option_that_does_not_exist_is_refused_in_one_sentence(name: str) -> None:
    expected = f"paramedic-{name}: unrecognized arguments: --kinds (see --help)\n"
    assert await ended(name, "--kinds", PARAMEDIC_CLUSTER="c") == (2, expected)


@BOTH
async def test_help_needs_no_settings_and_names_the_option(name: str) -> None:
    ran = await run(name, "--help", environment={})
    assert ran.code == 0
    assert f"usage: paramedic-{name} " in ran.out
    assert "--check-kinds NAMES" in ran.out


async def test_option_stands_above_the_variable() -> None:
    environment = {"PARAMEDIC_CLUSTER": "c", "PARAMEDIC_CHECK_KINDS": NODES}
    assert await printed("--check-kinds", MACHINES, **environment) == (0, "MachineHealthCheck\n")
    assert await printed(**environment) == (0, "NodeHealthCheck\n")


async def printed(*arguments: str, **environment: str) -> tuple[int, str]:
    """The exit code of a process, and the kinds that it handles."""
    ran = await run(
        "worker", *arguments, environment=os.environ | environment, entry=partial(run_process, say_kinds)
    )
    return ran.code, ran.out


async def say_kinds(settings: Settings) -> None:
    sys.stdout.write(" ".join(kind.kind for kind in settings.check_kinds) + "\n")
    sys.stdout.flush()
