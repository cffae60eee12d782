"""How a signal of upgrades is written."""

import pytest

from health.cluster.upgrade import CLUSTER_VERSION, UpgradeSignal

pytestmark = pytest.mark.rule("rule 38")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            "config.openshift.io/v1/ClusterVersion/Progressing=True",
            ("config.openshift.io/v1", "ClusterVersion", "Progressing", "True"),
        ),
        ("v1/Node/Upgrading=True", ("v1", "Node", "Upgrading", "True")),
        ("upgrade.cattle.io/v1/Plan/Complete=False", ("upgrade.cattle.io/v1", "Plan", "Complete", "False")),
        (
            "example.com/v1beta2/Fleet/example.com/Busy=Unknown",
            ("example.com/v1beta2", "Fleet", "example.com/Busy", "Unknown"),
        ),
    ],
)
def test_signal_is_version_kind_condition_and_status(text: str, parts: tuple[str, str, str, str]) -> None:
    assert UpgradeSignal.parse(text) == UpgradeSignal(*parts)
    assert str(UpgradeSignal.parse(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ClusterVersion",
        "v1/Node/Upgrading",
        "v1/Node/Upgrading=",
        "v1/Node/Upgrading=true",
        "v1/Node=True",
        "Node/Upgrading=True",
        "a/b/v1/Node/Upgrading=True",
        "config.openshift.io/v1/clusterversions/Progressing=True",
        "v1/Node/Upgrading=True ",
        "v1/Node/Upgrading=True=True",
    ],
)
def test_text_of_another_form_is_refused_with_the_text(text: str) -> None:
    with pytest.raises(ValueError, match="is not apiVersion/kind/condition=status") as refused:
        UpgradeSignal.parse(text)
    assert repr(text) in str(refused.value)


@pytest.mark.rule("rule 36")
def test_only_openshift_always_says_whether_it_is_upgraded() -> None:
    assert CLUSTER_VERSION.is_always_given
    assert UpgradeSignal.parse("config.openshift.io/v2/ClusterVersion/Progressing=True").is_always_given
    assert not UpgradeSignal.parse("config.openshift.io/v1/ClusterOperator/Progressing=True").is_always_given
    assert not UpgradeSignal.parse("example.com/v1/ClusterVersion/Progressing=True").is_always_given
