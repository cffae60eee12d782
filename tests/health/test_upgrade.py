"""Holds during an upgrade of the cluster, and when the timers restart."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.cluster.cluster_context import ClusterContext
from health.cluster.upgrade import (
    CLUSTER_VERSION,
    NEVER_UPGRADED,
    SignallingObject,
    Upgrade,
    UpgradePhase,
    UpgradeSignal,
    gravest,
    upgrade,
    upgrade_hold,
)
from health.model.node import Node
from health.model.observation import HoldReason
from health.model.verdict import Health
from tests.support.values.builders import EMPTY_CONTEXT, NOW, check, condition, node

MINUTE = timedelta(minutes=1)


ROLLING_OUT = UpgradeSignal.parse("cluster.x-k8s.io/v1beta1/Cluster/RollingOut=True")
SAYS_NOTHING = "ClusterVersion/version does not say whether Progressing is True"


def of_openshift(found: Sequence[SignallingObject], unreadable: Sequence[str] = ()) -> Upgrade:
    return upgrade(CLUSTER_VERSION, found, unreadable=unreadable)


def version(*conditions: dict[str, Any], name: str = "version", namespace: str = "") -> SignallingObject:
    return signalling({"conditions": list(conditions)}, name, namespace)


def signalling(status: dict[str, Any], name: str, namespace: str) -> SignallingObject:
    metadata = {
        "name": name,
        "namespace": namespace,
        "uid": "u",
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    return SignallingObject.model_validate({"metadata": metadata, "status": status})


def cluster(name: str, status: str = "", since: datetime = NOW) -> SignallingObject:
    conditions = [condition("RollingOut", status, since)] if status else []
    return signalling({"conditions": conditions}, name, "fleet")


def progressing(status: str, since: datetime = NOW) -> SignallingObject:
    return version(condition("Available", "True"), condition("Progressing", status, since))


def over(ended: datetime) -> ClusterContext:
    return ClusterContext(upgrade=of_openshift([progressing("False", ended)]))


@pytest.mark.rule("NHC 2.1/10")
def test_progressing_is_an_upgrade() -> None:
    known = of_openshift([progressing("True")])

    assert (known.phase, known.since, known.ended) == (UpgradePhase.UNDER_WAY, NOW, None)
    hold = upgrade_hold(known)
    assert hold is not None
    assert hold.reason is HoldReason.UPGRADING
    assert hold.message == (
        "the cluster is being upgraded since 2026-03-01T12:00:00Z, "
        "says ClusterVersion/version: Progressing=True"
    )


@pytest.mark.rule("NHC 2.1/10")
def test_one_that_progresses_is_enough_whatever_the_others_say() -> None:
    known = of_openshift([progressing("False"), progressing("True"), version()], unreadable=["broken"])

    assert known.phase is UpgradePhase.UNDER_WAY


@pytest.mark.rule("NHC 2.1/10", "rule 37")
def test_end_of_an_upgrade_is_when_progressing_became_false() -> None:
    known = of_openshift([progressing("False")])

    assert (known.phase, known.ended) == (UpgradePhase.OVER, NOW)
    assert upgrade_hold(known) is None


@pytest.mark.rule("rule 36", "rule 3")
@pytest.mark.parametrize(
    ("found", "unreadable", "why"),
    [
        pytest.param([], [], "there is no ClusterVersion", id="no object"),
        pytest.param([version()], [], SAYS_NOTHING, id="no condition"),
        pytest.param([progressing("Unknown")], [], SAYS_NOTHING, id="Unknown"),
        pytest.param(
            [progressing("False"), version()],
            [],
            SAYS_NOTHING,
            id="one of two does not say",
        ),
        pytest.param([], ["metadata"], "a ClusterVersion cannot be read: metadata", id="unreadable"),
        pytest.param(
            [progressing("False")], ["metadata"], "a ClusterVersion cannot be read: metadata", id="one of two"
        ),
    ],
)
def test_unknown_state_holds(found: list[SignallingObject], unreadable: list[str], why: str) -> None:
    hold = upgrade_hold(of_openshift(found, unreadable))

    assert hold is not None
    assert hold.reason is HoldReason.UPGRADE_UNKNOWN
    assert hold.message == f"it is unknown whether the cluster is being upgraded: {why}"


@pytest.mark.rule("rule 36")
def test_cluster_without_the_kind_is_never_upgrading() -> None:
    assert upgrade_hold(NEVER_UPGRADED) is None


def reconfigured(current: str, desired: str | None, name: str = "node-1") -> Node:
    wanted = {} if desired is None else {"machineconfiguration.openshift.io/desiredConfig": desired}
    annotations = {"machineconfiguration.openshift.io/currentConfig": current} | wanted
    return node(condition("Ready", "False"), annotations=annotations, name=name)


@pytest.mark.rule("NHC 1.7/machineconfiguration")
@pytest.mark.parametrize(
    ("current", "desired", "expected"),
    [
        pytest.param("a", "b", True, id="differ"),
        pytest.param("", "b", True, id="no current one"),
        pytest.param("a", "a", False, id="equal"),
        pytest.param("a", "", False, id="desired is empty"),
        pytest.param("a", None, False, id="none desired"),
    ],
)
def test_node_is_being_reconfigured_while_its_desired_configuration_differs(
    current: str,
    desired: str | None,
    expected: bool,  # noqa: FBT001  a column of the table
) -> None:
    assert bool(reconfigured(current, desired).configuration_to_come) is expected


@pytest.mark.rule("rule 37")
def test_clock_of_a_node_that_failed_during_the_upgrade_restarts_at_its_end() -> None:
    failed, judge, ended = node(condition("Ready", "False")), check(), NOW + 30 * MINUTE
    seen = judge.verdict(failed, ended + 4 * MINUTE, over(ended))

    assert (seen.health, seen.deadline) == (Health.WAITING, ended + 5 * MINUTE)
    assert seen.fact is not None
    assert seen.fact.since == NOW
    assert "Ready is False since 2026-03-01T12:00:00Z, counted since 2026-03-01T12:30:00Z" in seen.reason
    assert judge.verdict(failed, ended + 6 * MINUTE, over(ended)).health is Health.EXPIRED


@pytest.mark.rule("rule 37")
def test_upgrade_of_long_ago_moves_no_deadline() -> None:
    failed, judge, now = node(condition("Ready", "False")), check(), NOW + 4 * MINUTE

    assert judge.verdict(failed, now, over(NOW - 30 * MINUTE)) == judge.verdict(failed, now, EMPTY_CONTEXT)


@pytest.mark.rule("rule 37")
@given(
    since=st.timedeltas(-60 * MINUTE, 60 * MINUTE),
    ended=st.timedeltas(-60 * MINUTE, 60 * MINUTE),
)
def test_deadline_is_never_earlier_for_an_upgrade(since: timedelta, ended: timedelta) -> None:
    failed, judge = node(condition("Ready", "False", (NOW + since).replace(microsecond=0))), check()
    alone = judge.verdict(failed, NOW, EMPTY_CONTEXT).deadline
    after = judge.verdict(failed, NOW, over(NOW + ended)).deadline

    assert alone is not None
    assert after is not None
    # Times of the API server are in whole seconds.
    assert after == max(alone, (NOW + ended).replace(microsecond=0) + 5 * MINUTE)


@pytest.mark.rule("rule 38")
def test_any_object_with_the_status_of_the_signal_is_an_upgrade_and_is_named() -> None:
    known = upgrade(
        ROLLING_OUT, [cluster("a", "False"), cluster("b", "True"), cluster("c"), cluster("d", "Unknown")]
    )

    hold = upgrade_hold(known)
    assert hold is not None
    assert hold.reason is HoldReason.UPGRADING
    assert "says Cluster/fleet/b: RollingOut=True" in hold.message


@pytest.mark.rule("rule 38")
def test_condition_is_found_where_the_older_version_of_cluster_api_has_it() -> None:
    known = upgrade(
        ROLLING_OUT,
        [
            signalling(
                {"conditions": [], "v1beta2": {"conditions": [condition("RollingOut", "True")]}}, "a", "fleet"
            )
        ],
    )

    assert known.phase is UpgradePhase.UNDER_WAY


@pytest.mark.rule("rule 38")
@pytest.mark.parametrize(
    "found", [pytest.param([], id="no object"), pytest.param([cluster("a")], id="no condition")]
)
def test_object_that_never_began_an_upgrade_signals_none(found: list[SignallingObject]) -> None:
    assert upgrade(ROLLING_OUT, found) == NEVER_UPGRADED


@pytest.mark.rule("rule 38", "rule 3")
@pytest.mark.parametrize(
    ("found", "unreadable", "why"),
    [
        pytest.param(
            [cluster("a", "Unknown")],
            [],
            "Cluster/fleet/a does not say whether RollingOut is True",
            id="Unknown",
        ),
        pytest.param([cluster("a")], ["metadata"], "a Cluster cannot be read: metadata", id="unreadable"),
    ],
)
def test_unknown_signal_holds(found: list[SignallingObject], unreadable: list[str], why: str) -> None:
    known = upgrade(ROLLING_OUT, found, unreadable=unreadable)

    assert (known.phase, known.why_unknown) == (UpgradePhase.UNKNOWN, why)


@pytest.mark.rule("rule 38")
def test_signal_may_be_a_condition_that_is_false_or_unknown() -> None:
    complete = UpgradeSignal.parse("upgrade.cattle.io/v1/Plan/Complete=False")
    unheard = UpgradeSignal.parse("example.com/v1/Fleet/Settled=Unknown")

    assert upgrade(complete, [version(condition("Complete", "False"))]).phase is UpgradePhase.UNDER_WAY
    assert upgrade(complete, [version(condition("Complete", "True"))]).ended == NOW
    assert upgrade(unheard, [version(condition("Settled", "Unknown"))]).phase is UpgradePhase.UNDER_WAY
    assert upgrade(unheard, [version(condition("Settled", "False"))]).ended == NOW


@pytest.mark.rule("rule 38", "rule 37")
def test_end_is_the_latest_of_all_signals_and_objects() -> None:
    clusters = upgrade(
        ROLLING_OUT, [cluster("a", "False", NOW + MINUTE), cluster("b", "False", NOW - MINUTE)]
    )
    ofs = of_openshift([progressing("False")])

    assert gravest([clusters, ofs]).ended == gravest([ofs, clusters]).ended == NOW + MINUTE


@pytest.mark.rule("rule 38")
def test_several_signals_at_once_are_one_upgrade_that_began_with_the_first() -> None:
    clusters = upgrade(
        ROLLING_OUT, [cluster("a", "True", NOW + MINUTE), cluster("b", "False", NOW + 2 * MINUTE)]
    )
    ofs = of_openshift([progressing("True")])
    for known in (gravest([clusters, ofs]), gravest([ofs, clusters])):
        assert (known.since, known.sign) == (NOW, ofs.sign)
        assert known.transitions == {NOW, NOW + MINUTE}
    assert gravest([clusters, of_openshift([progressing("False")])]).transitions == {NOW + MINUTE}
    assert gravest([Upgrade(phase=UpgradePhase.UNDER_WAY), ofs]).transitions == {NOW}


@pytest.mark.rule("rule 38")
@given(st.permutations(list(UpgradePhase)))
def test_gravest_of_all_signals_decides_in_whatever_order_they_are_listed(phases: list[UpgradePhase]) -> None:
    gravity = [UpgradePhase.NEVER, UpgradePhase.OVER, UpgradePhase.UNKNOWN, UpgradePhase.UNDER_WAY]

    for count in range(1, len(phases) + 1):
        some = phases[:count]
        assert gravest(Upgrade(phase=phase) for phase in some).phase is max(some, key=gravity.index)
    assert gravest([]) == NEVER_UPGRADED
