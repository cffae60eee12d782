"""The signs that an owner works on a Node, what looks at them show, and until when each holds. Pure."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from health.kinds.clusterapi.machine import Machine
from health.model.node import Node, signs_on, signs_seen_on
from health.model.owner_signs import MOST_ENDED, SAME_WORK, OwnerSign, Sign, SignSighting, sighted
from health.model.sighting import Look
from health.policy.held_nodes import HeldNodes
from objects.timestamps import stamp
from tests.support.values import cluster_api
from tests.support.values.builders import MINUTE, NOW, condition, node_object

pytestmark = pytest.mark.rule("rule 59")

BEGAN = NOW - 10 * MINUTE
HOUR = timedelta(hours=1)
CONFIG = "machineconfiguration.openshift.io"
UNSTATED = None


def tainted(key: str, **fields: Any) -> dict[str, Any]:
    return {"spec": {"taints": [{"key": key, "effect": "NoSchedule", **fields}]}}


def node(*, ready: str = "Unknown", spec: dict[str, Any] | None = None, **metadata: Any) -> Node:
    body = node_object(condition("Ready", ready, BEGAN), **metadata)
    return Node.model_validate(body | {"spec": spec or {}})


def reconfigured(state: str = "Working", **names: str) -> dict[str, Any]:
    wanted = {"currentConfig": "a", "desiredConfig": "b", "state": state} | names
    return {"annotations": {f"{CONFIG}/{name}": value for name, value in wanted.items()}}


def updating(reason: str = "InPlaceUpdating", status: str = "True") -> Machine:
    return cluster_api.machine(condition("Updating", status, BEGAN) | {"reason": reason})


SIGNS = [
    pytest.param({"deletionTimestamp": stamp(BEGAN)}, OwnerSign.NODE_DELETION, BEGAN, id="being deleted"),
    pytest.param(
        tainted("ToBeDeletedByClusterAutoscaler", value=str(int(BEGAN.timestamp()))),
        OwnerSign.CLUSTER_AUTOSCALER,
        BEGAN,
        id="autoscaler",
    ),
    pytest.param(
        tainted("ToBeDeletedByClusterAutoscaler", value="9" * 40),
        OwnerSign.CLUSTER_AUTOSCALER,
        UNSTATED,
        id="autoscaler, a value that is no time",
    ),
    pytest.param(tainted("karpenter.sh/disrupted"), OwnerSign.KARPENTER, UNSTATED, id="karpenter"),
    pytest.param(
        tainted("karpenter.sh/disruption", value="disrupting"),
        OwnerSign.KARPENTER,
        UNSTATED,
        id="karpenter before 1.0",
    ),
    pytest.param(
        tainted("node.cloudprovider.kubernetes.io/shutdown", timeAdded=stamp(BEGAN)),
        OwnerSign.CLOUD_SHUTDOWN,
        BEGAN,
        id="shutdown",
    ),
    pytest.param(
        {"annotations": {"weave.works/kured-reboot-in-progress": stamp(BEGAN)}},
        OwnerSign.KURED,
        BEGAN,
        id="kured",
    ),
    pytest.param(
        {"annotations": {"kured.dev/kured-reboot-in-progress": "soon"}},
        OwnerSign.KURED,
        UNSTATED,
        id="a later kured, a value that is no time",
    ),
    pytest.param(reconfigured(), OwnerSign.MACHINE_CONFIG, UNSTATED, id="machine config"),
    pytest.param(
        reconfigured(currentConfig="b", currentImage="x@1", desiredImage="x@2"),
        OwnerSign.MACHINE_CONFIG,
        UNSTATED,
        id="an image of the machine config operator",
    ),
    pytest.param(tainted("example.com/reboot"), "taint example.com/reboot", UNSTATED, id="by the policy"),
]


@pytest.mark.parametrize(("metadata", "name", "stated"), SIGNS)
def test_node_shows_who_works_on_it_and_since_when(
    metadata: dict[str, Any], name: str, stated: datetime | None
) -> None:
    (sign,) = signs_on(node(**metadata))
    assert (sign.name, sign.stated, sign.has_failed) == (name, stated, False)


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        tainted("DeletionCandidateOfClusterAutoscaler"),
        tainted("example.com/reboot"),
        tainted("karpenter.sh/disruption", value="candidate"),
        tainted("node.kubernetes.io/unreachable", timeAdded=stamp(BEGAN)),
        tainted("node-role.kubernetes.io/control-plane"),
        {"spec": {"unschedulable": True}},
        {"annotations": {"weave.works/kured-most-recent-reboot-needed": stamp(BEGAN)}},
        {"annotations": {"kured.dev/kured-reboot-in-progress": ""}},
        reconfigured(desiredConfig="a"),
        reconfigured("Degraded", desiredConfig="a"),
        reconfigured(desiredConfig=""),
    ],
    ids=str,
)
def test_node_that_is_only_a_candidate_or_in_trouble_shows_no_owner_at_work(metadata: dict[str, Any]) -> None:
    assert not [*HeldNodes().work_on(node(**metadata), NOW)]


@pytest.mark.parametrize("key", ["DeletionCandidateOfClusterAutoscaler", "example.com/reboot", "Kured"])
def test_further_taint_is_a_sign_where_the_policy_names_it(key: str) -> None:
    named = HeldNodes.model_validate({"signs": [key]})
    assert [work.words for work in named.work_on(node(**tainted(key)), NOW)] == [
        f"the Node has the taint {key}"
    ]


@pytest.mark.parametrize("state", ["Degraded", "Unreconcilable"])
def test_machine_config_operator_that_gave_up_is_not_at_work(state: str) -> None:
    (sign,) = signs_on(node(**reconfigured(state)))
    assert sign.has_failed
    assert not [*HeldNodes().work_on(node(**reconfigured(state)), NOW)]


@pytest.mark.parametrize(
    ("machine", "expected"),
    [
        (updating(), [(OwnerSign.MACHINE_UPDATE, BEGAN, False)]),
        (updating("InPlaceUpdateFailed"), [(OwnerSign.MACHINE_UPDATE, BEGAN, True)]),
        (updating(status="False"), []),
        (updating(status="Unknown"), []),
        (cluster_api.machine(), []),
    ],
)
def test_machine_of_cluster_api_shows_an_update_in_place(machine: Machine, expected: list[Any]) -> None:
    assert [(sign.name, sign.stated, sign.has_failed) for sign in machine.signs] == expected


WORK = Sign("Karpenter", "Karpenter disrupts the Node")
FAILED = Sign("Karpenter", "Karpenter gave up", has_failed=True)
EARLIER = SignSighting("Karpenter", BEGAN)
OVER = SignSighting("Karpenter", BEGAN, BEGAN + MINUTE)


@pytest.mark.parametrize(
    ("before", "signs", "expected"),
    [
        pytest.param(None, [WORK], [("Karpenter", NOW, None)], id="first look, no time"),
        pytest.param(None, [Sign("K", "", BEGAN)], [("K", BEGAN, None)], id="first look, its time"),
        pytest.param(None, [Sign("K", "", NOW + HOUR)], [("K", NOW, None)], id="a clock that is ahead"),
        pytest.param((), [Sign("K", "", BEGAN)], [("K", NOW, None)], id="seen without it before"),
        pytest.param([EARLIER], [WORK], [("Karpenter", BEGAN, None)], id="it lasts"),
        pytest.param([EARLIER], [], [("Karpenter", BEGAN, NOW)], id="it is gone"),
        pytest.param([OVER], [], [("Karpenter", BEGAN, BEGAN + MINUTE)], id="it was gone before"),
        pytest.param([EARLIER], [FAILED], [("Karpenter", BEGAN, NOW)], id="failed"),
        pytest.param([OVER], [WORK], [("Karpenter", BEGAN, None)], id="back within an hour"),
        pytest.param(
            [SignSighting("Karpenter", BEGAN - 2 * HOUR, BEGAN - HOUR)],
            [WORK],
            [("Karpenter", NOW, None)],
            id="back after more than an hour",
        ),
        pytest.param(None, [FAILED], [], id="failed at the first look"),
    ],
)
def test_looks_show_since_when_an_owner_is_at_work_and_when_it_stopped(
    before: Any,
    signs: list[Sign],
    expected: list[Any],
) -> None:
    found = sighted(before, signs, NOW)
    assert [(one.name, one.since, one.ended) for one in found] == expected


@given(st.lists(st.tuples(st.integers(1, 59), st.booleans()), min_size=1, max_size=60))
def test_sign_that_comes_and_goes_on_a_failed_node_delays_it_for_its_time_and_no_longer(
    looks: list[tuple[int, bool]],
) -> None:
    held, now, seen = HeldNodes(), NOW, node(name="a")
    first: datetime | None = None
    for minutes, is_shown in looks:
        now += timedelta(minutes=minutes)
        if any(one.ended and now - one.ended >= SAME_WORK for one in signs_seen_on(seen)):
            return
        shown = node(name="a", **(tainted("karpenter.sh/disrupted") if is_shown else {}))
        seen = shown.seen_after(seen, Look(now))
        if is_shown:
            first = first or now
        assert all(first is not None and end <= first + held.at_most for end in held.ends_on(seen))
        assert all(work.since == first for work in held.work_on(seen, now))


def test_earlier_process_knows_better_than_the_clock_of_the_node_since_when_a_sign_is_seen() -> None:
    shown = node(name="a", annotations={"weave.works/kured-reboot-in-progress": stamp(NOW - 3 * HOUR)})
    first_look = shown.seen_after(None, Look(NOW))
    assert [work.since for work in HeldNodes().work_on(first_look, NOW)] == [NOW - 3 * HOUR]
    seen = first_look.with_signs_since([SignSighting("Kured", NOW - MINUTE)])
    assert [work.since for work in HeldNodes().work_on(seen, NOW)] == [NOW - MINUTE]


def test_other_controllers_cannot_fill_the_memory_with_taints() -> None:
    seen = node(name="a").seen_after(None, Look(NOW))
    for number in range(100):
        shown = node(name="a", **tainted(f"example.com/job-{number}"))
        seen = shown.seen_after(seen, Look(NOW + number * MINUTE))
    assert len([*signs_seen_on(seen)]) == MOST_ENDED + 1


def test_healthy_node_stays_the_same_object_and_another_one_of_its_name_begins_anew() -> None:
    healthy = node(ready="True")
    assert healthy.seen_after(None, Look(NOW)) is healthy
    assert healthy.seen_after(healthy, Look(NOW)) is healthy

    deleted = node(deletionTimestamp=stamp(BEGAN)).seen_after(healthy, Look(NOW))
    assert [one.since for one in signs_seen_on(deleted)] == [NOW]
    another = node(uid="another").seen_after(deleted, Look(NOW + MINUTE))
    assert not [*signs_seen_on(another)]


def test_what_an_api_server_calls_sightings_is_replaced_at_each_look() -> None:
    forged = {"signsSeen": [{"name": "Kured", "since": stamp(BEGAN), "ended": stamp(NOW)}]}
    with pytest.raises(ValidationError):
        Node.model_validate(node_object(condition("Ready", "True")) | forged)


@pytest.mark.parametrize(
    ("policy", "after", "holds", "ends"),
    [
        ({}, 59 * MINUTE, True, [NOW + HOUR]),
        ({}, HOUR, False, [NOW + HOUR]),
        ({"atMost": "2h"}, HOUR, True, [NOW + 2 * HOUR]),
        ({"atMost": "10m"}, 30 * MINUTE, False, [NOW + 10 * MINUTE]),
        ({"without": ["Karpenter"]}, MINUTE, False, []),
        ({"without": ["Kured"]}, MINUTE, True, [NOW + HOUR]),
    ],
)
def test_policy_says_which_signs_hold_and_for_how_long(
    policy: dict[str, Any],
    after: timedelta,
    holds: bool,  # noqa: FBT001  a column of the table
    ends: list[datetime],
) -> None:
    held, now = HeldNodes.model_validate(policy), NOW + after
    seen = node(**tainted("karpenter.sh/disrupted")).seen_after(node(), Look(NOW))
    assert any(now < work.until for work in held.work_on(seen, now)) is holds
    assert [*held.ends_on(seen)] == ends


def test_live_object_without_sightings_is_at_work_since_the_time_that_its_sign_states() -> None:
    (work,) = HeldNodes().work_on(node(deletionTimestamp=stamp(BEGAN)), NOW)
    assert (work.since, work.until) == (BEGAN, BEGAN + HOUR)
    assert str(work.hold(NOW)) == (
        "OwnerAtWork: the Node is being deleted, since 2026-03-01T11:50:00Z; "
        "it is left alone until 2026-03-01T12:50:00Z"
    )
    assert round(work.hold(NOW).ask_again_seconds) == 50 * 60


def test_every_default_sign_has_a_row_in_the_table_of_signs() -> None:
    shown = {param.values[1] for param in SIGNS} | {OwnerSign.MACHINE_UPDATE}
    assert frozenset(OwnerSign) <= shown
