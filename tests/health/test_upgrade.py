"""What an upgrade of the cluster holds, and when clocks restart."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.node import Node
from health.observation import HoldReason
from health.surroundings import CALM, Surroundings
from health.upgrade import NEVER_UPGRADED, ClusterVersion, Upgrade, UpgradePhase, upgrade, upgrade_hold
from health.verdict import Health
from tests.health.samples import NOW, check, condition, node

MINUTE = timedelta(minutes=1)


def version(*conditions: dict[str, Any]) -> ClusterVersion:
    metadata = {"name": "version", "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"}
    return ClusterVersion.model_validate({"metadata": metadata, "status": {"conditions": list(conditions)}})


def progressing(status: str, since: datetime = NOW) -> ClusterVersion:
    return version(condition("Available", "True"), condition("Progressing", status, since))


def over(ended: datetime) -> Surroundings:
    return Surroundings(upgrade=upgrade([progressing("False", ended)]))


@pytest.mark.rule("NHC 2.1/10")
def test_progressing_is_an_upgrade() -> None:
    known = upgrade([progressing("True")])

    assert known == Upgrade(UpgradePhase.UNDER_WAY, NOW)
    hold = upgrade_hold(known, ())
    assert hold is not None
    assert hold.reason is HoldReason.UPGRADING
    assert hold.message == "the cluster is being upgraded since 2026-03-01T12:00:00Z"


@pytest.mark.rule("NHC 2.1/10")
def test_one_that_progresses_is_enough_whatever_the_others_say() -> None:
    known = upgrade([progressing("False"), progressing("True"), version()], unreadable=["broken"])

    assert known.phase is UpgradePhase.UNDER_WAY


@pytest.mark.rule("NHC 2.1/10", "decision 37")
def test_end_of_an_upgrade_is_when_progressing_became_false() -> None:
    known = upgrade([progressing("False")])

    assert (known.phase, known.ended) == (UpgradePhase.OVER, NOW)
    assert upgrade_hold(known, ()) is None


@pytest.mark.rule("decision 36", "decision 3")
@pytest.mark.parametrize(
    ("found", "unreadable", "why"),
    [
        pytest.param([], [], "there is no ClusterVersion", id="no object"),
        pytest.param([version()], [], "ClusterVersion does not say whether it progresses", id="no condition"),
        pytest.param(
            [progressing("Unknown")], [], "ClusterVersion does not say whether it progresses", id="Unknown"
        ),
        pytest.param(
            [progressing("False"), version()],
            [],
            "ClusterVersion does not say whether it progresses",
            id="one of two does not say",
        ),
        pytest.param([], ["metadata"], "a ClusterVersion cannot be read: metadata", id="unreadable"),
        pytest.param(
            [progressing("False")], ["metadata"], "a ClusterVersion cannot be read: metadata", id="one of two"
        ),
    ],
)
def test_state_that_nobody_can_tell_holds(
    found: list[ClusterVersion], unreadable: list[str], why: str
) -> None:
    hold = upgrade_hold(upgrade(found, unreadable=unreadable), ())

    assert hold is not None
    assert hold.reason is HoldReason.UPGRADE_UNKNOWN
    assert hold.message == f"nobody can say whether the cluster is being upgraded: {why}"


@pytest.mark.rule("decision 36")
def test_cluster_without_the_kind_is_never_upgrading() -> None:
    assert upgrade_hold(NEVER_UPGRADED, ()) is None
    assert upgrade_hold(NEVER_UPGRADED, (reconfigured("a", "b"),)) is None


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
    assert reconfigured(current, desired).is_being_reconfigured is expected


@pytest.mark.rule("NHC 2.1/10", "NHC 1.7/machineconfiguration")
def test_new_configuration_of_an_expired_target_holds_its_check() -> None:
    known = upgrade([progressing("False")])
    nodes = (reconfigured("a", "c", "node-2"), reconfigured("a", "b", "node-1"))

    hold = upgrade_hold(known, nodes)
    assert hold is not None
    assert hold.reason is HoldReason.UPGRADING
    assert hold.message == "the configuration of node-1 and 1 more is being changed to b"


@pytest.mark.rule("decision 37")
def test_clock_of_a_node_that_failed_during_the_upgrade_restarts_at_its_end() -> None:
    failed, judge, ended = node(condition("Ready", "False")), check(), NOW + 30 * MINUTE
    seen = judge.verdict(failed, ended + 4 * MINUTE, over(ended))

    assert (seen.health, seen.deadline) == (Health.WAITING, ended + 5 * MINUTE)
    assert seen.fact is not None
    assert seen.fact.since == NOW
    assert "Ready is False since 2026-03-01T12:00:00Z, counted since 2026-03-01T12:30:00Z" in seen.reason
    assert judge.verdict(failed, ended + 6 * MINUTE, over(ended)).health is Health.EXPIRED


@pytest.mark.rule("decision 37")
def test_upgrade_of_long_ago_moves_no_deadline() -> None:
    failed, judge, now = node(condition("Ready", "False")), check(), NOW + 4 * MINUTE

    assert judge.verdict(failed, now, over(NOW - 30 * MINUTE)) == judge.verdict(failed, now, CALM)


@pytest.mark.rule("decision 37")
@given(
    since=st.timedeltas(-60 * MINUTE, 60 * MINUTE),
    ended=st.timedeltas(-60 * MINUTE, 60 * MINUTE),
)
def test_deadline_is_never_earlier_for_an_upgrade(since: timedelta, ended: timedelta) -> None:
    failed, judge = node(condition("Ready", "False", (NOW + since).replace(microsecond=0))), check()
    alone = judge.verdict(failed, NOW, CALM).deadline
    after = judge.verdict(failed, NOW, over(NOW + ended)).deadline

    assert alone is not None
    assert after is not None
    # Times of the API server are in whole seconds.
    assert after == max(alone, (NOW + ended).replace(microsecond=0) + 5 * MINUTE)
