import pytest

from health.cluster.upgrade import CLUSTER_VERSION, UpgradeSignal
from health.kinds.clusterapi.kind import CLUSTER_API_MACHINE_HEALTH_CHECK
from objects.address import Address
from runtime.settings import Settings, SettingsError


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
