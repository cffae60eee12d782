"""Conditions are, field by field, those that Cluster API's own controller writes, in its order (rule 48).

The expected conditions follow the source of Cluster API 1.14. Other tests hold what differs on purpose: the
numbers that decided (rule 31), and what the reference loses (rule 45).
"""

from datetime import timedelta
from typing import Any

import pytest

from health.cluster.cluster_context import ClusterContext
from health.kinds.clusterapi.conditions import in_order
from health.kinds.clusterapi.group import V1BETA1, V1BETA2
from health.kinds.clusterapi.kind import status_patch as status_of_check
from health.kinds.clusterapi.machine import MachineTarget
from health.kinds.clusterapi.machine_conditions import (
    TARGET_REPORTS,
    DesiredConditions,
    asked_of_owner,
    desired_conditions,
    external,
    status_patch,
)
from objects.timestamps import stamp
from tests.support.values.builders import NOW, condition
from tests.support.values.cluster_api import (
    CREATED,
    EVERYTHING_READY,
    HEALTHY_NODE,
    MINUTE,
    REMEDIATE,
    TEMPLATE,
    check,
    machine,
    merged,
    snapshot,
    target,
    with_lost_node,
    without_node,
)

pytestmark = pytest.mark.rule("rule 48")

LATER = NOW + timedelta(hours=1)
GENERATION = 4
"""Of the Machine."""
Conditions = list[dict[str, Any]]

MARKING = check(
    checks={
        "unhealthyNodeConditions": [{"type": "Ready", "status": "Unknown", "timeoutSeconds": 300}],
        "unhealthyMachineConditions": [{"type": "NodeReady", "status": "False", "timeoutSeconds": 60}],
        "nodeStartupTimeoutSeconds": 600,
    }
)
WITH_TEMPLATE = check(remediation={"templateRef": TEMPLATE})
NODE_UNKNOWN = condition("Ready", "Unknown", NOW - 6 * MINUTE) | {"reason": "NodeStatusUnknown"}
NOT_READY = condition("NodeReady", "False", NOW - 6 * MINUTE) | {"reason": "NodeNotReady"}


def of_form(type_: str, status: str, reason: str, message: str = "") -> dict[str, Any]:
    said = {"type": type_, "status": status, "reason": reason, "message": message}
    return said | {"observedGeneration": GENERATION, "lastTransitionTime": stamp(NOW)}


def of_old_form(type_: str, status: str, reason: str = "", message: str = "") -> dict[str, Any]:
    said = {"severity": "Warning" if status == "False" else "", "reason": reason, "message": message}
    present = {key: value for key, value in said.items() if value}
    return {"type": type_, "status": status, "lastTransitionTime": stamp(NOW)} | present


def failed(reason: str, message: str, old_reason: str, old_message: str) -> tuple[Conditions, Conditions]:
    """A failed health check, and its owner asked, in both forms."""
    of_failure = of_form("HealthCheckSucceeded", "False", reason, message)
    mark = of_form("OwnerRemediated", "False", "WaitingForRemediation", "Waiting for remediation")
    old_failure = of_old_form("HealthCheckSucceeded", "False", old_reason, old_message)
    old_mark = of_old_form("OwnerRemediated", "False", "WaitingForRemediation")
    return [of_failure, mark], [old_failure, old_mark]


UNKNOWN_NODE = (
    "Condition Ready on Node is reporting status Unknown with reason NodeStatusUnknown for more than 5m0s"
)
OF_MACHINE = (
    "Condition NodeReady on Machine is reporting status False with reason NodeNotReady for more than 1m0s"
)
REFERENCE = {
    "healthy": (
        target(HEALTHY_NODE),
        [of_form("HealthCheckSucceeded", "True", "HealthCheckSucceeded")],
        [of_old_form("HealthCheckSucceeded", "True")],
    ),
    "a condition of its Node": (
        target(NODE_UNKNOWN),
        *failed("UnhealthyNode", f"Health check failed:\n  * {UNKNOWN_NODE}", "UnhealthyNode", UNKNOWN_NODE),
    ),
    "conditions of Machine and Node": (
        target(NODE_UNKNOWN, of=machine(NOT_READY)),
        *failed(
            "UnhealthyMachine",
            f"Health check failed:\n  * {OF_MACHINE}\n  * {UNKNOWN_NODE}",
            "UnhealthyMachine",
            f"{OF_MACHINE}; {UNKNOWN_NODE}",
        ),
    ),
    "its Node is deleted": (
        with_lost_node(),
        *failed("NodeDeleted", "Health check failed:\n  * Node node-1 has been deleted", "NodeNotFound", ""),
    ),
    "its Node does not come": (
        without_node(created=CREATED),
        *failed(
            "NodeStartupTimeout",
            "Health check failed:\n  * Node failed to report startup in 10m0s",
            "NodeStartupTimeout",
            "Node failed to report startup in 10m0s",
        ),
    ),
    "the annotation": (
        target(HEALTHY_NODE, annotations=REMEDIATE),
        *failed(
            "HasRemediateAnnotation",
            "Health check failed: marked for remediation via cluster.x-k8s.io/remediate-machine annotation",
            "HasRemediateMachineAnnotation",
            "Marked for remediation via remediate-machine annotation",
        ),
    ),
}


def all_said(of: MachineTarget, context: ClusterContext = EVERYTHING_READY) -> DesiredConditions:
    """The conditions that detector and worker write to a Machine under a check without a template."""
    failure = MARKING.failure(of, NOW, context)
    if failure is None:
        return desired_conditions(MARKING, of, NOW, context, external(None))
    return asked_of_owner(failure)


def written(desired: DesiredConditions, status: Any = None, api_version: str = V1BETA2) -> Any:
    found = {"apiVersion": api_version, "metadata": {"generation": GENERATION}, "status": status}
    return merged(status or {}, status_patch(found, desired, NOW))


@pytest.mark.parametrize("situation", REFERENCE)
def test_machine_is_reported_and_marked_in_the_words_of_the_reference(situation: str) -> None:
    of, ours, twins = REFERENCE[situation]
    assert written(all_said(of)) == {"conditions": ours, "deprecated": {"v1beta1": {"conditions": twins}}}
    assert written(all_said(of), api_version=V1BETA1) == {
        "conditions": twins,
        "v1beta2": {"conditions": ours},
    }


@pytest.mark.parametrize("situation", REFERENCE)
def test_nothing_is_written_over_what_the_reference_wrote(situation: str) -> None:
    of, ours, twins = REFERENCE[situation]
    for api_version, status in (
        (V1BETA2, {"conditions": ours, "deprecated": {"v1beta1": {"conditions": twins}}}),
        (V1BETA1, {"conditions": twins, "v1beta2": {"conditions": ours}}),
    ):
        found = {"apiVersion": api_version, "metadata": {"generation": GENERATION}, "status": status}
        assert status_patch(found, all_said(of), LATER) == {}


def test_request_that_is_waited_for_is_reported_in_the_words_of_the_reference() -> None:
    said = desired_conditions(WITH_TEMPLATE, with_lost_node(), NOW, EVERYTHING_READY, external(None))
    ours, twins = failed(
        "NodeDeleted", "Health check failed:\n  * Node node-1 has been deleted", "NodeNotFound", ""
    )
    waiting = of_form("ExternallyRemediated", "False", "WaitingForRemediation")
    assert written(said) == {
        "conditions": [ours[0], waiting],
        "deprecated": {"v1beta1": {"conditions": twins[:1]}},
    }


def test_condition_that_tells_of_an_earlier_generation_is_written_anew_with_its_time() -> None:
    """Otherwise Cluster API's controller would write the field for each Machine whose spec was edited."""
    before = written(all_said(target(HEALTHY_NODE)))
    edited = {"apiVersion": V1BETA2, "metadata": {"generation": GENERATION + 1}, "status": before}
    (now,) = merged(before, status_patch(edited, all_said(target(HEALTHY_NODE)), LATER))["conditions"]
    assert now == before["conditions"][0] | {"observedGeneration": GENERATION + 1}


@pytest.mark.parametrize(
    ("observed", "is_stored"), [(GENERATION, True), (GENERATION - 1, False), (None, False)]
)
def test_machine_as_it_was_seen_says_of_which_generation_it_tells(
    observed: int | None,
    is_stored: bool,  # noqa: FBT001  a column
) -> None:
    said = of_form("HealthCheckSucceeded", "True", "HealthCheckSucceeded") | {"observedGeneration": observed}
    seen = target(HEALTHY_NODE, of=machine({key: value for key, value in said.items() if value is not None}))
    assert TARGET_REPORTS.is_stored(all_said(seen), seen) is is_stored


def test_conditions_of_others_get_their_place_when_one_is_written_and_no_write_for_it() -> None:
    types = ["Paused", "example.com/Gate", "NodeHealthy", "Deleting", "Ready", "Updating", "Available", "A"]
    others = [condition(type_, "True") for type_ in types]
    after = written(all_said(with_lost_node()), {"conditions": others})["conditions"]
    assert [one["type"] for one in after] == [
        "Available",
        "Ready",
        "NodeHealthy",
        "HealthCheckSucceeded",
        "OwnerRemediated",
        "Updating",
        "A",
        "example.com/Gate",
        "Paused",
        "Deleting",
    ]
    assert [one for one in after if one["type"] in types] == in_order(
        others, lambda one: one["type"], is_old=False
    )
    disordered = {"conditions": after[::-1]}
    assert written(all_said(with_lost_node()), disordered)["conditions"] == disordered["conditions"]


def test_old_form_has_ready_first_and_then_the_alphabet() -> None:
    types = ["Paused", "InfrastructureReady", "Ready", "Available"]
    status = {"deprecated": {"v1beta1": {"conditions": [condition(type_, "True") for type_ in types]}}}
    after = written(all_said(with_lost_node()), status)["deprecated"]["v1beta1"]["conditions"]
    assert [one["type"] for one in after] == [
        "Ready",
        "Available",
        "HealthCheckSucceeded",
        "InfrastructureReady",
        "OwnerRemediated",
        "Paused",
    ]


def test_time_of_the_old_form_moves_with_the_words_too() -> None:
    before = written(all_said(with_lost_node()))
    found = {"apiVersion": V1BETA2, "metadata": {"generation": GENERATION}, "status": before}
    after = merged(before, status_patch(found, all_said(target(NODE_UNKNOWN)), LATER))
    assert after["conditions"][0]["lastTransitionTime"] == stamp(NOW)
    assert after["deprecated"]["v1beta1"]["conditions"][0]["lastTransitionTime"] == stamp(LATER)


def test_check_says_what_the_reference_says_of_it() -> None:
    three = {"observedGeneration": 3}
    allowed = of_form("RemediationAllowed", "True", "RemediationAllowed") | three
    not_paused = of_form("Paused", "False", "NotPaused") | three
    status = merged({}, status_of_check(snapshot(of=MARKING), {}, NOW))
    assert status["conditions"] == [allowed, not_paused]
    assert status["deprecated"]["v1beta1"]["conditions"] == [of_old_form("RemediationAllowed", "True")]

    words = (
        "Remediation is not allowed, the number of not started or unhealthy machines exceeds maxUnhealthy "
        "(total: 5, unhealthy: 3, maxUnhealthy: 40%)"
    )
    forty = check(trigger={"unhealthyLessThanOrEqualTo": "40%"})
    status = merged({}, status_of_check(snapshot(of=forty, healthy=2), {}, NOW))
    held = of_form("RemediationAllowed", "False", "TooManyUnhealthy", words) | three
    assert status["conditions"] == [held, not_paused]
    assert status["deprecated"]["v1beta1"]["conditions"] == [
        of_old_form("RemediationAllowed", "False", "TooManyUnhealthy", words)
    ]
