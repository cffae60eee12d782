"""Settings of a process, and the kinds of health check that it handles."""

import os
import sys
from functools import partial

import pytest

from health.cluster.upgrade import CLUSTER_VERSION, UpgradeSignal
from health.kinds.clusterapi.kind import CLUSTER_API_MACHINE_HEALTH_CHECK
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from objects.address import Address
from runtime.process import run_process
from runtime.settings import Settings, SettingsError
from tests.runtime.test_process import BOTH, ended
from tests.support.cluster.forked import run


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("127.0.0.1:1", "127.0.0.1", 1),
        ("localhost:65535", "localhost", 65535),
        (":8081", "", 8081),
        ("[::1]:8081", "::1", 8081),
    ],
)
def test_address_is_a_host_and_a_port(text: str, host: str, port: int) -> None:
    assert Address.parse(text) == Address(host, port)
    assert Settings(cluster="c", ready_address=text).ready_address == text


@pytest.mark.parametrize(
    "text",
    ["", "foo", "8081", "127.0.0.1:", "127.0.0.1:x", "a:0", "a:-1", "127.0.0.1:99999", "::1:80", "a:\u0661"],
)
def test_address_that_is_none_is_refused_by_name_and_value(text: str) -> None:
    with pytest.raises(SettingsError) as refused:
        Settings.from_environment({"PARAMEDIC_CLUSTER": "c", "PARAMEDIC_READY_ADDRESS": text})
    assert str(refused.value) == (
        f"PARAMEDIC_READY_ADDRESS: must be host:port, with a port from 1 to 65535 (found {text!r})"
    )


def _signals(text: str) -> tuple[UpgradeSignal, ...]:
    environment = {"PARAMEDIC_CLUSTER": "c", "PARAMEDIC_UPGRADE_SIGNALS": text}
    return Settings.from_environment(environment).upgrade_signals


@pytest.mark.rule("rule 38")
def test_signals_of_upgrades_are_a_list_and_those_of_openshift_without_one() -> None:
    cluster = "cluster.x-k8s.io/v1beta2/Cluster/RollingOut=True"

    assert Settings(cluster="c").upgrade_signals == (CLUSTER_VERSION,)
    assert _signals(cluster) == (UpgradeSignal.parse(cluster),)
    assert _signals(f"{CLUSTER_VERSION}, {cluster}") == (CLUSTER_VERSION, UpgradeSignal.parse(cluster))


@pytest.mark.rule("rule 38/default")
def test_control_planes_signal_upgrades_where_checks_of_cluster_api_are_handled() -> None:
    kinds = {"PARAMEDIC_CHECK_KINDS": CLUSTER_API_MACHINE_HEALTH_CHECK.resource_name}
    settings = Settings.from_environment({"PARAMEDIC_CLUSTER": "c", **kinds})

    assert [str(signal) for signal in settings.upgrade_signals] == [
        "config.openshift.io/v1/ClusterVersion/Progressing=True",
        "controlplane.cluster.x-k8s.io/v1beta2/KubeadmControlPlane/RollingOut=True",
        "controlplane.cluster.x-k8s.io/v1beta1/KubeadmControlPlane/RollingOut=True",
    ]
    named = {"PARAMEDIC_UPGRADE_SIGNALS": str(CLUSTER_VERSION)}
    told = Settings.from_environment({"PARAMEDIC_CLUSTER": "c", **kinds, **named})
    assert told.upgrade_signals == (CLUSTER_VERSION,)


def test_unknown_kind_is_reported_and_not_the_signals_that_it_lacks() -> None:
    with pytest.raises(SettingsError, match=r"PARAMEDIC_CHECK_KINDS: there is no kind 'pods'"):
        Settings.from_environment({"PARAMEDIC_CLUSTER": "c", "PARAMEDIC_CHECK_KINDS": "pods"})


@pytest.mark.rule("rule 38")
@pytest.mark.parametrize(
    ("text", "bad"), [("", ""), ("v1/Node/A=True,", ""), ("v1/Node/A=True,Node/B=True", "Node/B=True")]
)
def test_signal_of_another_form_is_refused_by_name_and_value(text: str, bad: str) -> None:
    with pytest.raises(SettingsError) as refused:
        _signals(text)
    assert str(refused.value) == (
        f"PARAMEDIC_UPGRADE_SIGNALS: {bad!r} is not apiVersion/kind/condition=status (found {text!r})"
    )


def test_upgrade_pause_is_on_unless_a_setting_turns_it_off() -> None:
    assert (Settings(cluster="c").upgrade_pause, Settings(cluster="c").long_upgrade_seconds) == ("on", 21600)
    with pytest.raises(SettingsError, match=r"PARAMEDIC_UPGRADE_PAUSE: .*'on' or 'off'.* \(found 'no'\)"):
        Settings.from_environment({"PARAMEDIC_CLUSTER": "c", "PARAMEDIC_UPGRADE_PAUSE": "no"})


@pytest.mark.parametrize(
    ("name", "value"),
    [("IDENTITY", ""), *(("LONG_UPGRADE_SECONDS", value) for value in ("0", "inf", "nan"))],
)
def test_setting_that_would_let_two_lead_or_old_facts_be_acted_on_is_refused(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=rf"^PARAMEDIC_{name}: .*\(found '{value}'\)$"):
        Settings.from_environment({"PARAMEDIC_CLUSTER": "c", f"PARAMEDIC_{name}": value})


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
