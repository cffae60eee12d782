"""The signals of an upgrade, and which checks and targets an upgrade holds."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest

from health.check.health_check import HealthCheck
from health.cluster.cluster_context import ClusterContext
from health.cluster.upgrade import (
    CLUSTER_VERSION,
    NEVER_UPGRADED,
    ClusterUpgrades,
    PauseProgress,
    Signalled,
    SignallingObject,
    Upgrade,
    UpgradePhase,
    UpgradeSignal,
    upgrade_hold,
    upgrades,
)
from health.gate.check_holds import CHECK_HOLDS, check_holds
from health.kinds.clusterapi.cluster import cluster_of
from health.kinds.clusterapi.kind import ROLLING_OUT
from health.model.observation import HoldReason
from health.model.sighting import Gap
from objects.metadata import ObjectMetadata
from tests.support.values import cluster_api as samples
from tests.support.values import openshift
from tests.support.values.builders import NOW, check, condition
from tests.support.values.held import latest_restart, moment_of


@pytest.mark.rule("rule 38")
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


@pytest.mark.rule("rule 38")
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


@pytest.mark.rule("rule 38")
@pytest.mark.rule("rule 36")
def test_only_openshift_always_says_whether_it_is_upgraded() -> None:
    assert CLUSTER_VERSION.is_always_given
    assert UpgradeSignal.parse("config.openshift.io/v2/ClusterVersion/Progressing=True").is_always_given
    assert not UpgradeSignal.parse("config.openshift.io/v1/ClusterOperator/Progressing=True").is_always_given
    assert not UpgradeSignal.parse("example.com/v1/ClusterVersion/Progressing=True").is_always_given


PAUSE_UNDER_WAY = Upgrade(
    phase=UpgradePhase.UNDER_WAY, since=NOW, sign="ClusterVersion/version: Progressing=True"
)
LATER = NOW + timedelta(hours=1)
HANDLED = PauseProgress(transitions=(NOW,), handled_until=NOW, pending=("failed",))


def node_check(uid: str = "ours", created: datetime = NOW - timedelta(days=1)) -> ObjectMetadata:
    return ObjectMetadata(name="workers", uid=uid, creation_timestamp=created)


@pytest.mark.rule("rule 46")
def test_check_that_the_pause_has_handled_is_held_by_its_annotation_alone() -> None:
    hold = upgrade_hold(PAUSE_UNDER_WAY)
    assert hold is not None
    assert hold.reason is HoldReason.UPGRADING
    assert hold.message.endswith("Progressing=True")

    assert upgrade_hold(PAUSE_UNDER_WAY, is_handled=True) is None


@pytest.mark.rule("rule 46", "rule 35")
@pytest.mark.parametrize(
    ("one", "transitions", "is_handled"),
    [
        pytest.param(node_check(), {NOW}, True, id="it was there"),
        pytest.param(node_check("failed"), {NOW}, False, id="its write failed"),
        pytest.param(node_check(created=NOW), {NOW}, False, id="it was created later"),
        pytest.param(node_check(), {LATER}, False, id="the next upgrade"),
        pytest.param(node_check(), set(), False, id="an upgrade without a time"),
    ],
)
def test_check_is_handled_in_one_upgrade_if_it_was_there(
    one: ObjectMetadata, transitions: set[datetime], *, is_handled: bool
) -> None:
    assert HANDLED.has_handled(one, transitions) is is_handled
    assert not PauseProgress().has_handled(one, transitions)


@pytest.mark.rule("rule 38", "rule 46")
def test_handled_check_stays_handled_while_a_signal_joins_or_another_ends() -> None:
    both = HANDLED.model_copy(update={"transitions": (NOW, LATER)})

    assert HANDLED.has_handled(node_check(), {NOW, LATER})
    assert both.has_handled(node_check(), {LATER})
    assert PauseProgress(handled_until=NOW).has_handled(node_check(), frozenset())


@pytest.mark.rule("rule 36")
@pytest.mark.parametrize("is_handled", [True, False])
def test_unknown_upgrade_state_holds_every_check(*, is_handled: bool) -> None:
    unknown = Upgrade(phase=UpgradePhase.UNKNOWN, why_unknown="it cannot be read")
    hold = upgrade_hold(unknown, is_handled=is_handled)

    assert hold is not None
    assert hold.reason is HoldReason.UPGRADE_UNKNOWN


MINUTE = timedelta(minutes=1)
OF_EDGE = {"cluster.x-k8s.io/cluster-name": "edge"}
OF_CORE = {"cluster.x-k8s.io/cluster-name": "core"}
OTHER = UpgradeSignal.parse("example.com/v1/Fleet/Settled=False")
UNDER_WAY, OVER, UNKNOWN, NEVER = (
    UpgradePhase.UNDER_WAY,
    UpgradePhase.OVER,
    UpgradePhase.UNKNOWN,
    UpgradePhase.NEVER,
)


def control_plane(
    status: str = "True",
    labels: dict[str, str] | None = None,
    namespace: str = "fleet",
    since: datetime = NOW,
) -> SignallingObject:
    """A KubeadmControlPlane; without a status it has no such condition."""
    metadata = {
        "name": "edge",
        "namespace": namespace,
        "uid": "u",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": OF_EDGE if labels is None else labels,
    }
    conditions = [condition("RollingOut", status, since)] if status else []
    return SignallingObject.model_validate({"metadata": metadata, "status": {"conditions": conditions}})


def rolling_out(*found: SignallingObject, **fields: Any) -> Signalled:
    return Signalled(signal=ROLLING_OUT[0], found=found, belongs_to_clusters=True, **fields)


def context(*seen: Signalled, **fields: Any) -> ClusterContext:
    of_all, of_clusters = upgrades(seen, cluster_of)
    return ClusterContext(upgrade=of_all, cluster_upgrades=of_clusters, **fields)


@pytest.mark.rule("rule 38/cluster", "rule 36")
@pytest.mark.parametrize(
    ("seen", "of_all", "edge", "core"),
    [
        pytest.param([], NEVER, NEVER, NEVER, id="no signal is served"),
        pytest.param([rolling_out()], NEVER, NEVER, NEVER, id="no object"),
        pytest.param([rolling_out(control_plane())], NEVER, UNDER_WAY, NEVER, id="of one Cluster"),
        pytest.param([rolling_out(control_plane(""))], NEVER, NEVER, NEVER, id="without the condition"),
        pytest.param([rolling_out(control_plane("False"))], NEVER, OVER, NEVER, id="over"),
        pytest.param([rolling_out(control_plane("Unknown"))], NEVER, UNKNOWN, NEVER, id="does not say"),
        pytest.param(
            [rolling_out(control_plane("False"), control_plane(labels=OF_CORE))],
            NEVER,
            OVER,
            UNDER_WAY,
            id="of two Clusters",
        ),
        pytest.param(
            [rolling_out(control_plane("False")), rolling_out(control_plane())],
            NEVER,
            UNDER_WAY,
            NEVER,
            id="two signals of one Cluster",
        ),
        pytest.param(
            [rolling_out(control_plane(namespace="other"))], NEVER, NEVER, NEVER, id="in another namespace"
        ),
        pytest.param([rolling_out(control_plane(labels={}))], UNDER_WAY, UNDER_WAY, UNDER_WAY, id="no label"),
        pytest.param(
            [rolling_out(control_plane(labels={"cluster.x-k8s.io/cluster-name": ""}))],
            UNDER_WAY,
            UNDER_WAY,
            UNDER_WAY,
            id="an empty label",
        ),
        pytest.param([rolling_out(problem="forbidden")], NEVER, UNKNOWN, UNKNOWN, id="kind not read"),
        pytest.param(
            [rolling_out(control_plane("False"), unreadable=["status"])],
            NEVER,
            UNKNOWN,
            UNKNOWN,
            id="one is unreadable",
        ),
        pytest.param(
            [rolling_out(control_plane(), problem="gone")], NEVER, UNDER_WAY, UNKNOWN, id="what was read"
        ),
        pytest.param([Signalled(signal=OTHER, problem="late")], UNKNOWN, UNKNOWN, UNKNOWN, id="another kind"),
        pytest.param(
            [Signalled(signal=OTHER, unreadable=["status"])],
            UNKNOWN,
            UNKNOWN,
            UNKNOWN,
            id="another, unreadable",
        ),
        pytest.param(
            [Signalled(signal=CLUSTER_VERSION), rolling_out(control_plane())],
            UNKNOWN,
            UNDER_WAY,
            UNKNOWN,
            id="no ClusterVersion",
        ),
    ],
)
def test_object_of_a_cluster_speaks_for_that_one_and_any_other_for_all(
    seen: Sequence[Signalled], of_all: UpgradePhase, edge: UpgradePhase, core: UpgradePhase
) -> None:
    known = context(*seen)

    phases = [known.upgrade_of(cluster).phase for cluster in ("", "fleet/edge", "fleet/core")]
    assert phases == [of_all, edge, core]


def held(judge: HealthCheck, known: ClusterContext) -> str | None:
    hold = check_holds(CHECK_HOLDS, moment_of(judge, known)).of(HoldReason.UPGRADING)
    return None if hold is None else hold.message


@pytest.mark.rule("rule 38/cluster")
def test_checks_of_the_cluster_whose_control_plane_is_rolling_out_are_held_and_no_others() -> None:
    known = context(rolling_out(control_plane()))

    assert held(samples.check(), known) == (
        "the cluster is being upgraded since 2026-03-01T12:00:00Z, "
        "says KubeadmControlPlane/fleet/edge: RollingOut=True"
    )
    assert held(samples.check(clusterName="core"), known) is None
    assert held(check(), known) is None
    assert held(openshift.check(), known) is None


@pytest.mark.rule("rule 38/cluster")
def test_cluster_is_known_to_its_checks_before_its_control_plane_is_initialized() -> None:
    not_there = ClusterContext()

    assert samples.check().node_cluster(not_there) == ""
    assert samples.check().managed_cluster == "fleet/edge"
    assert check().managed_cluster == openshift.check().managed_cluster == ""


@pytest.mark.rule("rule 38/cluster", "rule 38")
def test_upgrade_of_everything_holds_checks_of_each_cluster() -> None:
    known = ClusterContext(
        upgrade=Upgrade(phase=UNDER_WAY, since=NOW, sign="Fleet/blue: Settled=False"),
        cluster_upgrades=ClusterUpgrades({"fleet/edge": Upgrade(phase=OVER, since=NOW)}),
    )

    for judge in (samples.check(), samples.check(clusterName="core"), check(), openshift.check()):
        assert "Settled=False" in (held(judge, known) or "")


@pytest.mark.rule("rule 37/cluster")
def test_clocks_restart_at_the_end_for_that_cluster_alone() -> None:
    ended, later = NOW + 30 * MINUTE, NOW + 40 * MINUTE
    lost = {"fleet/core": (Gap(since=NOW, until=later),)}
    known = context(rolling_out(control_plane("False", since=ended)), lost=lost)

    assert latest_restart(known, "fleet/edge") == known.upgrade_ended("fleet/edge") == ended
    assert latest_restart(known, "fleet/core") == later
    assert known.upgrade_ended("fleet/core") is None
    assert latest_restart(known, "") is None


@pytest.mark.rule("rule 37/cluster")
def test_clocks_count_from_the_later_end_of_both() -> None:
    before, after = Upgrade(phase=OVER, since=NOW), Upgrade(phase=OVER, since=NOW + MINUTE)

    for of_all, of_edge in ((before, after), (after, before)):
        known = ClusterContext(upgrade=of_all, cluster_upgrades=ClusterUpgrades({"fleet/edge": of_edge}))
        assert latest_restart(known, "fleet/edge") == NOW + MINUTE
        assert latest_restart(known, "") == of_all.since


@pytest.mark.rule("rule 37/cluster")
def test_nothing_is_known_of_clusters_by_default() -> None:
    assert ClusterUpgrades().of("fleet/edge") == ClusterUpgrades(of_each=Upgrade(phase=UNKNOWN)).of("")
    assert ClusterUpgrades().of("fleet/edge") == NEVER_UPGRADED
