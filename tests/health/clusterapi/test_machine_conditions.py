"""The conditions of a Machine, and the request to its owner (CAPI B.1, B.2.5)."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.check.template_validity import forbidden
from health.cluster.cluster_context import CheckProblem, ClusterContext
from health.kinds.clusterapi.group import V1BETA1, V1BETA2
from health.kinds.clusterapi.machine import OURS
from health.kinds.clusterapi.machine_conditions import (
    NOTHING,
    DesiredConditions,
    asked_of_owner,
    desired_conditions,
    external,
    status_patch,
)
from health.kinds.clusterapi.unhealthy import Failure
from health.kinds.machines.check import NOT_CREATED
from objects.timestamps import stamp
from tests.support.values.builders import NOW, condition
from tests.support.values.cluster_api import (
    EVERYTHING_READY,
    HEALTHY_NODE,
    MINUTE,
    PAUSED,
    TEMPLATE,
    check,
    in_cluster,
    merged,
    target,
    with_lost_node,
)

LATER = NOW + timedelta(hours=1)
LOST = Failure("NodeDeleted", "Health check failed:\n  * Node node-1 has been deleted", "NodeNotFound", "")
WITH_TEMPLATE = check(remediation={"templateRef": TEMPLATE})
HEALTHY = desired_conditions(check(), target(HEALTHY_NODE), NOW, EVERYTHING_READY, external(None))
FAILED = desired_conditions(check(), with_lost_node(), NOW, EVERYTHING_READY, external(None))
REQUESTED = desired_conditions(WITH_TEMPLATE, with_lost_node(), NOW, EVERYTHING_READY, external(None))
ASKED = asked_of_owner(LOST)
FOREIGN = [
    {"type": "Ready", "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z", "extra": {"a": [1]}},
    {"type": "InfrastructureReady", "status": "False", "severity": "Error", "reason": "X", "message": ""},
    {"type": "example.com/Custom", "status": "Unknown"},
]


def listed(status: Any, *path: str) -> dict[str, Any]:
    """The conditions of a list, by type."""
    for field in path:
        status = status.get(field, {})
    return {one["type"]: one for one in status.get("conditions", [])}


def patch(
    desired: DesiredConditions, status: Any = None, api_version: str = V1BETA2, now: Any = NOW
) -> dict[str, Any]:
    """A condition of a Machine in its fourth generation."""
    machine = {"apiVersion": api_version, "metadata": {"generation": 4}, "status": status}
    return status_patch(machine, desired, now)


def written(
    desired: DesiredConditions, status: Any = None, api_version: str = V1BETA2, now: Any = NOW
) -> Any:
    return merged(status or {}, patch(desired, status, api_version, now))


@pytest.mark.rule("CAPI B.2.5/mark", "CAPI B.1/condition/OwnerRemediated", "CAPI B.2.6/fields", "rule 32")
def test_mark_of_v1beta2_with_its_deprecated_twin() -> None:
    since = {"lastTransitionTime": stamp(NOW)}
    failed = {"type": "HealthCheckSucceeded", "status": "False", "reason": "NodeDeleted"}
    waiting = {"type": "OwnerRemediated", "status": "False", "reason": "WaitingForRemediation"}
    observed = {"observedGeneration": 4}
    assert patch(ASKED) == {
        "conditions": [
            failed | since | observed | {"message": LOST.message},
            waiting | since | observed | {"message": "Waiting for remediation"},
        ],
        "deprecated": {
            "v1beta1": {
                "conditions": [
                    failed | since | {"severity": "Warning", "reason": "NodeNotFound"},
                    waiting | since | {"severity": "Warning"},
                ]
            }
        },
    }


@pytest.mark.rule("CAPI B.1/condition/form", "rule 32")
def test_mark_of_v1beta1_with_its_twin() -> None:
    status = written(ASKED, api_version=V1BETA1)
    assert listed(status)["HealthCheckSucceeded"]["severity"] == "Warning"
    assert listed(status)["OwnerRemediated"]["reason"] == "WaitingForRemediation"
    assert listed(status, "v1beta2")["HealthCheckSucceeded"]["reason"] == "NodeDeleted"
    assert listed(status, "v1beta2")["OwnerRemediated"]["message"] == "Waiting for remediation"
    assert "deprecated" not in status


@pytest.mark.rule("CAPI B.1/condition/HealthCheckSucceeded", "CAPI B.2.5/healthy", "rule 30")
def test_healthy_machine_is_reported_as_such_with_a_template_too() -> None:
    with_template = desired_conditions(
        WITH_TEMPLATE, target(HEALTHY_NODE), NOW, EVERYTHING_READY, external(None)
    )
    assert with_template == HEALTHY
    assert written(HEALTHY)["conditions"] == [
        {
            "type": "HealthCheckSucceeded",
            "status": "True",
            "reason": "HealthCheckSucceeded",
            "message": "",
            "lastTransitionTime": stamp(NOW),
            "observedGeneration": 4,
        }
    ]
    assert listed(written(HEALTHY, api_version=V1BETA1))["HealthCheckSucceeded"] == {
        "type": "HealthCheckSucceeded",
        "status": "True",
        "lastTransitionTime": stamp(NOW),
    }


@pytest.mark.rule("CAPI B.2.5/mark again", "CAPI B.2.5/taken back by nobody")
@pytest.mark.parametrize(
    ("known", "is_asked"),
    [
        pytest.param(None, True, id="absent"),
        pytest.param({"status": "True"}, True, id="done"),
        pytest.param({"status": "False", "reason": "RemediationDeferred"}, False, id="deferred"),
        pytest.param({"status": "Unknown", "reason": "Whatever"}, False, id="unknown"),
    ],
)
def test_owner_is_asked_where_no_remediation_has_begun(known: dict[str, str] | None, is_asked: bool) -> None:  # noqa: FBT001  a column
    stored = [{"type": "OwnerRemediated", **known}] if known else []
    status = {"conditions": stored}
    asked = listed(written(ASKED, status))["OwnerRemediated"]
    assert (asked.get("reason") == "WaitingForRemediation") is is_asked
    for said in (HEALTHY, FAILED, REQUESTED):
        assert [one for one in written(said, status)["conditions"] if one in stored] == stored


@pytest.mark.rule("CAPI B.2.6/fields")
def test_each_form_of_the_mark_is_judged_by_itself() -> None:
    """A MachineSet that deletes says MachineDeleting in the one form, and True in the other."""
    deleting = {"type": "OwnerRemediated", "status": "False", "reason": "MachineDeleting"}
    done = {"type": "OwnerRemediated", "status": "True"}
    status = {"conditions": [deleting], "deprecated": {"v1beta1": {"conditions": [done]}}}
    after = written(ASKED, status)
    assert listed(after)["OwnerRemediated"] == deleting
    assert listed(after, "deprecated", "v1beta1")["OwnerRemediated"]["reason"] == "WaitingForRemediation"


@pytest.mark.rule("CAPI B.1/condition/ExternallyRemediated", "CAPI B.2.5/no template", "rule 45")
@pytest.mark.parametrize(
    ("problem", "error", "reason", "message"),
    [
        (None, "", "WaitingForRemediation", ""),
        (CheckProblem("RemediationTemplateNotFound", "no"), "", "RemediationTemplateNotFound", "no"),
        (CheckProblem("RemediationTemplateInvalid", "bad"), "", "RemediationTemplateNotFound", "bad"),
        (forbidden("no right"), "", "RemediationTemplateForbidden", forbidden("no right").message),
        (CheckProblem(NOT_CREATED, "forbidden"), "", NOT_CREATED, "forbidden"),
        (None, "quota", NOT_CREATED, "quota"),
        (CheckProblem("ClusterNotFound", "no"), "", "WaitingForRemediation", ""),
    ],
)
def test_outcome_of_the_request_is_reported(
    problem: CheckProblem | None, error: str, reason: str, message: str
) -> None:
    said = desired_conditions(
        WITH_TEMPLATE, with_lost_node(), NOW, EVERYTHING_READY, external(problem, error)
    )
    status = written(said)
    known = listed(status)["ExternallyRemediated"]
    assert (known["status"], known["reason"], known["message"]) == ("False", reason, message)
    assert "ExternallyRemediated" not in listed(status, "deprecated", "v1beta1")
    assert listed(written(said, api_version=V1BETA1))["ExternallyRemediated"]["reason"] == reason
    assert "ExternallyRemediated" not in listed(written(HEALTHY, status))


@pytest.mark.rule("CAPI B.1/condition/ExternallyRemediated")
def test_words_of_the_remediator_stay_until_another_failure_begins() -> None:
    failing, done = condition("HealthCheckSucceeded", "False"), condition("ExternallyRemediated", "True")
    busy = condition("ExternallyRemediated", "False") | {"reason": "PoweringOff"}
    assert listed(written(REQUESTED, {"conditions": [failing, done]}))["ExternallyRemediated"] == done
    assert listed(written(REQUESTED, {"conditions": [failing, busy]}))["ExternallyRemediated"] == busy
    older = condition("ExternallyRemediated", "True", NOW - MINUTE)
    for another in ([condition("HealthCheckSucceeded", "True"), done], [failing, older]):
        again = listed(written(REQUESTED, {"conditions": another}))
        assert again["ExternallyRemediated"]["reason"] == "WaitingForRemediation"
    assert listed(written(HEALTHY, {"conditions": [busy]}))["ExternallyRemediated"] == busy


@pytest.mark.rule("CAPI B.2.7/nothing", "rule 33")
def test_nothing_is_said_while_paused_unseen_or_while_a_timer_runs() -> None:
    words = external(None)
    assert desired_conditions(check(PAUSED), with_lost_node(), NOW, EVERYTHING_READY, words) == NOTHING
    unseen = in_cluster(unreachable={"fleet/edge": "no route"})
    assert desired_conditions(check(), with_lost_node(), NOW, unseen, words) == NOTHING
    of_another_time = in_cluster(clock_skews={"fleet/edge": timedelta(minutes=6)})
    assert desired_conditions(check(), with_lost_node(), NOW, of_another_time, words) == NOTHING
    waiting = target(condition("Ready", "False"))
    assert desired_conditions(check(), waiting, NOW + MINUTE, EVERYTHING_READY, words) == NOTHING
    assert desired_conditions(check(), with_lost_node(), NOW, ClusterContext(), words) == NOTHING
    assert patch(NOTHING) == {}


@pytest.mark.rule("CAPI B.2.5/deleting")
def test_of_a_machine_that_is_being_deleted_only_its_health_is_reported() -> None:
    going = with_lost_node(is_going=True)
    assert desired_conditions(WITH_TEMPLATE, going, NOW, EVERYTHING_READY, external(None)) == FAILED


def test_of_two_checks_the_one_that_failed_wins() -> None:
    assert HEALTHY.merged_with(FAILED) == FAILED.merged_with(HEALTHY) == FAILED
    assert NOTHING.merged_with(HEALTHY) == HEALTHY.merged_with(NOTHING) == HEALTHY


@pytest.mark.rule("CAPI B.1/status/lastTransitionTime")
def test_transition_time_moves_with_the_status_alone() -> None:
    status = written(FAILED)
    other = DesiredConditions(
        asked_of_owner(Failure("UnhealthyNode", "else", "UnhealthyNode", "else")).succeeded
    )
    assert listed(written(other, status, now=LATER))["HealthCheckSucceeded"]["lastTransitionTime"] == stamp(
        NOW
    )
    healed = listed(written(HEALTHY, status, now=LATER))["HealthCheckSucceeded"]
    assert healed["lastTransitionTime"] == stamp(LATER)


def test_message_is_no_longer_than_either_form_takes() -> None:
    endless = Failure("UnhealthyNode", "x" * 50_000, "UnhealthyNode", "x" * 50_000)
    status = written(asked_of_owner(endless))
    assert len(listed(status)["HealthCheckSucceeded"]["message"]) == 32768
    assert len(listed(status, "deprecated", "v1beta1")["HealthCheckSucceeded"]["message"]) == 10240
    assert patch(asked_of_owner(endless), status, now=LATER) == {}


STORED = st.lists(
    st.fixed_dictionaries(
        {"type": st.sampled_from(sorted(OURS)), "status": st.sampled_from(["True", "False", "Unknown"])},
        optional={"reason": st.sampled_from(["WaitingForRemediation", "MachineDeleting"])},
    ),
    unique_by=lambda one: one["type"],
)


@pytest.mark.rule("CAPI B.1/condition/others")
@given(
    ours=STORED,
    twins=STORED,
    said=st.sampled_from([HEALTHY, FAILED, REQUESTED, ASKED]),
    api_version=st.sampled_from([V1BETA2, V1BETA1]),
    order=st.randoms(),
)
def test_patch_says_it_once_and_leaves_other_writers_alone(
    *, ours: list[Any], twins: list[Any], said: DesiredConditions, api_version: str, order: Any
) -> None:
    stored, others = [*ours, *FOREIGN], [*twins, *FOREIGN]
    order.shuffle(stored)
    status: dict[str, Any] = {
        "conditions": stored,
        "deprecated": {"v1beta1": {"conditions": others, "failureReason": "kept"}},
        "v1beta2": {"conditions": others},
        "phase": "Running",
    }
    after = written(said, status, api_version)

    assert patch(said, after, api_version, LATER) == {}
    for path in ((), ("deprecated", "v1beta1"), ("v1beta2",)):
        part = after
        for field in path:
            part = part[field]
        assert all(one in part["conditions"] for one in FOREIGN)
        assert len(part["conditions"]) == len({one["type"] for one in part["conditions"]})
    assert after["phase"] == "Running"
    assert after["deprecated"]["v1beta1"]["failureReason"] == "kept"
