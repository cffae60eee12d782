"""Nodes that vanish together are not believed to be gone; those that go one by one are."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from health.cluster.lost_nodes import (
    BELIEVED,
    WITHOUT_GUARD,
    SuspectedLoss,
    after_confirmation,
    refused_confirmations,
    rule_of,
    still_suspected,
    suspected_loss,
)
from health.kinds.clusterapi import machine as cluster_api
from health.model.observation import HoldReason
from health.model.references import CheckReference
from health.policy.outage_guard import OutageGuard
from objects.timestamps import stamp
from tests.support.values.builders import NOW, condition
from tests.support.values.openshift import machine as openshift_machine

pytestmark = pytest.mark.rule("rule 50/vanished", "rule 63")

SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
STRICT = OutageGuard(minimumNodes=5, percentage=90)


def lost(number: int, since: datetime = NOW, of: str = "n") -> dict[str, datetime]:
    return {f"{of}{index}": since for index in range(number)}


def suspected(
    expected: int, gone: dict[str, datetime], guard: OutageGuard | None = None
) -> SuspectedLoss | None:
    return suspected_loss(rule_of(guard), "fleet/east", expected, gone)


@pytest.mark.parametrize(
    ("gone", "expected", "guard", "is_suspected"),
    [
        (10, 10, None, True),
        (6, 10, None, True),
        (5, 10, None, False),
        (2, 2, None, False),  # fewer than three are believed, with and without a guard
        (2, 3, None, False),
        (3, 3, None, True),
        (3, 5, None, True),
        (3, 6, None, False),
        (1, 1, None, False),  # a cluster of one Node: nothing tells its loss from that of the cluster
        (0, 0, None, False),
        (2, 2, OutageGuard(), False),  # the numbers of the guard, which wants three
        (3, 3, OutageGuard(), True),
        (8, 10, STRICT, False),
        (9, 10, STRICT, True),
    ],
)
def test_so_many_that_vanish_at_once_are_suspected(
    gone: int, expected: int, guard: OutageGuard | None, *, is_suspected: bool
) -> None:
    assert (suspected(expected, lost(gone), guard) is not None) is is_suspected


def test_those_that_vanish_one_by_one_are_believed() -> None:
    one_by_one = {f"n{index}": NOW + index * HOUR for index in range(10)}
    assert suspected(10, one_by_one) is None
    assert suspected(10, lost(9, BELIEVED)) is None


def test_those_that_were_gone_before_count_neither_way() -> None:
    found = suspected(12, lost(8, BELIEVED, "old") | lost(3))
    assert found is not None
    assert (found.lost, found.expected, len(found.names)) == (3, 4, 3)


def test_hold_says_how_many_and_how_a_person_confirms_it() -> None:
    found = suspected(10, lost(4) | lost(4, NOW + SECOND, "m"))
    assert found is not None
    hold = found.hold
    assert hold.reason is HoldReason.NODES_VANISHED
    assert "8 of 10 Nodes of the workload cluster fleet/east" in hold.message
    assert "paramedic.dev/confirmed-node-loss=2026-01-01T00:00:01Z" in hold.message.replace(
        (NOW + SECOND).strftime("%Y-%m-%dT%H:%M:%SZ"), "2026-01-01T00:00:01Z"
    )


def test_suspicion_ends_when_all_are_back_and_not_when_most_are() -> None:
    found = suspected(10, lost(10))
    assert found is not None
    left = still_suspected(WITHOUT_GUARD, found, lost(1))
    assert left is not None
    assert left.names == {"n0"}
    assert still_suspected(WITHOUT_GUARD, left, {}) is None
    # One that had gone long before and is believed to be, or that goes long after, does not prolong it.
    assert still_suspected(WITHOUT_GUARD, left, {"old": BELIEVED}) is None
    assert still_suspected(WITHOUT_GUARD, left, {"other": NOW + HOUR}) is None


def test_nodes_that_follow_one_after_the_other_are_of_the_same_suspicion() -> None:
    found, gone = suspected(4, lost(3)), lost(3)
    for index in range(10):
        gone["n0"], gone[f"m{index}"] = NOW, NOW + index * 4 * MINUTE
        found = found and still_suspected(WITHOUT_GUARD, found, gone)
    assert found is not None
    assert (found.names, found.last) == (frozenset(gone), NOW + 36 * MINUTE)
    assert "13 of 13 Nodes" in found.hold.message


def test_person_confirms_what_vanished_until_a_time_and_nothing_later() -> None:
    gone = lost(9, NOW + SECOND / 2) | lost(1, NOW + MINUTE, "m")
    found = suspected(10, gone)
    assert found is not None

    def after(confirmed: datetime) -> SuspectedLoss | None:
        return still_suspected(WITHOUT_GUARD, found, after_confirmation(gone, confirmed))

    assert after(NOW - SECOND) == found
    left = after(NOW)
    assert left is not None
    assert left.names == {"m0"}
    assert after(NOW + MINUTE) is None


@pytest.mark.parametrize(
    ("ahead", "refused"),
    [(-HOUR, False), (0 * SECOND, False), (5 * SECOND, False), (6 * SECOND, True), (9999 * HOUR, True)],
)
def test_confirmation_in_the_future_is_refused_also_when_its_time_has_come(
    ahead: timedelta, *, refused: bool
) -> None:
    check = CheckReference(kind="MachineHealthCheck", namespace="fleet", name="workers")
    written = {check: NOW + ahead}
    first = refused_confirmations(written, {}, NOW)
    assert (check in first) is refused
    assert refused_confirmations(written, first, NOW + ahead + HOUR) == first
    assert refused_confirmations({check: NOW}, first, NOW + HOUR) == {}, (
        "another time is another confirmation"
    )
    assert refused_confirmations({}, first, NOW) == {}


def with_infrastructure(status: str, reason: str) -> dict[str, Any]:
    return condition("InfrastructureReady", status, NOW) | {"reason": reason}


@pytest.mark.parametrize(
    ("status", "is_gone"),
    [
        ({}, False),
        ({"phase": "Running"}, False),
        ({"phase": "Failed"}, True),
        ({"conditions": [with_infrastructure("True", "Ready")]}, False),
        ({"conditions": [with_infrastructure("Unknown", "InternalError")]}, False),
        ({"conditions": [with_infrastructure("False", "InstanceTerminated")]}, True),
        ({"conditions": [with_infrastructure("False", "VMNotFound")]}, True),
        ({"conditions": [with_infrastructure("False", "Deleted")]}, True),
        ({"conditions": [with_infrastructure("False", "NotReady")]}, True),
        ({"conditions": [with_infrastructure("False", "")]}, True),
        ({"v1beta2": {"conditions": [with_infrastructure("False", "DoesNotExist")]}}, True),
        # The instance is not ready yet, its state is not known, or the Node itself is the cause.
        ({"conditions": [with_infrastructure("False", "WaitingForInfrastructure")]}, False),
        ({"conditions": [with_infrastructure("False", "InstanceProvisionStarted")]}, False),
        ({"conditions": [with_infrastructure("False", "VMUpdating")]}, False),
        ({"conditions": [with_infrastructure("False", "HCloudCredentialsInvalid")]}, False),
        ({"conditions": [with_infrastructure("False", "SettingProviderIDOnNodeFailed")]}, False),
    ],
)
def test_machine_of_cluster_api_says_whether_its_instance_is_gone(
    status: dict[str, Any], *, is_gone: bool
) -> None:
    metadata = {"name": "m", "namespace": "fleet", "uid": "u", "creationTimestamp": stamp(NOW)}
    machine = cluster_api.Machine.model_validate({"metadata": metadata, "status": status})
    assert machine.is_instance_gone is is_gone


@pytest.mark.parametrize(("phase", "is_gone"), [("Running", False), ("Failed", True), ("Provisioned", False)])
def test_machine_of_openshift_says_whether_its_instance_is_gone(phase: str, *, is_gone: bool) -> None:
    assert openshift_machine(phase=phase).is_instance_gone is is_gone
