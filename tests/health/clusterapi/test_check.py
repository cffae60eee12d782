"""A MachineHealthCheck of Cluster API as a kind of check, and the fields of its Cluster."""

from typing import Any

import pytest

from health.check.template_validity import Place, TemplateKind
from health.check.template_validity import Template as KnownTemplate
from health.cluster.cluster_context import ClusterContext
from health.kinds.clusterapi.cluster import Clusters, ClusterStatus, judge, kubeconfig_secret
from health.kinds.clusterapi.machine import Machine, MachineTarget
from health.model.observation import HoldReason
from health.model.references import Action
from objects.clusters import SecretField
from tests.support.values.builders import NOW, condition
from tests.support.values.cluster_api import (
    EVERYTHING_READY,
    HEALTHY_NODE,
    LABELS,
    MACHINE_SET,
    NAMESPACE,
    PAUSED,
    TEMPLATE,
    check,
    cluster,
    in_cluster,
    machine,
    target,
)

WITH_TEMPLATE = check(remediation={"templateRef": TEMPLATE})
ASKED = condition("OwnerRemediated", "False", NOW)


@pytest.mark.rule("CAPI B.2.2/selected", "CAPI B.2.2/excluded", "CAPI B.1/selector", "CAPI B.1/ClusterClass")
@pytest.mark.rule("CAPI B.1/annotation/paused", "CAPI B.1/annotation/skip-remediation")
@pytest.mark.parametrize(
    ("of", "is_selected"),
    [
        pytest.param(machine(), True, id="of the Cluster and the selector"),
        pytest.param(machine(labels={"pool": "others"}), False, id="not of the selector"),
        pytest.param(
            machine(labels={"cluster.x-k8s.io/cluster-name": "other"}), False, id="of another Cluster"
        ),
        pytest.param(machine(annotations=PAUSED), False, id="paused"),
        pytest.param(
            machine(annotations={"cluster.x-k8s.io/skip-remediation": "false"}), False, id="skipped"
        ),
        pytest.param(machine(owners=()), True, id="without an owner"),
        pytest.param(machine(is_going=True), True, id="being deleted"),
    ],
)
def test_targets_of_a_check(of: Machine, is_selected: bool) -> None:  # noqa: FBT001  a column of the table
    assert check().selects(MachineTarget(of)) is is_selected


@pytest.mark.rule("CAPI B.1/selector")
def test_empty_selector_selects_nothing() -> None:
    assert not check(selector={}).selects(target())


@pytest.mark.rule("CAPI B.2.7/nothing", "CAPI B.1/annotation/paused", "rule 7")
def test_check_is_paused_by_its_cluster_by_its_annotation_or_by_both() -> None:
    of_cluster = in_cluster(cluster(paused=True))
    by_cluster = "Cluster spec.paused is set to true"
    by_annotation = "MachineHealthCheck has the cluster.x-k8s.io/paused annotation"
    for of, context, words in (
        (check(), EVERYTHING_READY, None),
        (check(), of_cluster, by_cluster),
        (check(PAUSED), EVERYTHING_READY, by_annotation),
        (check(PAUSED), ClusterContext(), by_annotation),
        (check(PAUSED), of_cluster, f"{by_cluster}, {by_annotation}"),
    ):
        hold = of.hold_in(context)
        assert (hold.message if hold else None) == words
        assert hold is None or hold.reason is HoldReason.PAUSED
        assert of.is_fully_paused_in(context) is (hold is not None)


@pytest.mark.rule("CAPI B.2.2/no Cluster")
def test_check_without_its_cluster_says_so() -> None:
    context = ClusterContext(
        of_kinds={cluster_kind: judge([], 2) for cluster_kind in EVERYTHING_READY.of_kinds}
    )
    problem = check().problem(context, lambda *_: None)
    assert problem is not None
    assert (problem.reason, problem.message) == (
        "ClusterNotFound",
        "Cluster fleet/edge not found; 2 Clusters cannot be read",
    )
    assert check().problem(EVERYTHING_READY, lambda *_: None) is None


@pytest.mark.rule("CAPI B.2.5/no template", "CAPI B.2.5/request")
def test_missing_template_is_a_problem_and_an_empty_one_is_none() -> None:
    template = KnownTemplate.model_validate(
        {"metadata": {"name": "reboot", "namespace": NAMESPACE, "uid": "u"}}
    )
    empty = TemplateKind(templates={Place(NAMESPACE, "reboot"): template})
    assert WITH_TEMPLATE.problem(EVERYTHING_READY, lambda *_: empty) is None
    missing = WITH_TEMPLATE.problem(EVERYTHING_READY, lambda *_: TemplateKind())
    assert missing is not None
    assert missing.reason == "RemediationTemplateNotFound"
    refused = TemplateKind(templates={Place(NAMESPACE, "reboot"): template}, request_rejection="forbidden")
    problem = WITH_TEMPLATE.problem(EVERYTHING_READY, lambda *_: refused)
    assert problem is not None
    assert (problem.reason, problem.message) == ("RemediationRequestCreationFailed", "forbidden")


@pytest.mark.rule("CAPI B.2.2/ownerless", "CAPI B.2.5/no deletion")
def test_machine_is_marked_or_gets_a_request_under_any_owner() -> None:
    for owners in ((), (MACHINE_SET,)):
        one = target(HEALTHY_NODE, owners=owners)
        assert [step.action for step in check().steps_for(one)] == [Action.MARK]
        (step,) = WITH_TEMPLATE.steps_for(one)
        assert (step.action, step.template.namespace) == (Action.REQUEST, NAMESPACE)


@pytest.mark.rule("CAPI B.2.6/waiting", "CAPI B.2.6/refused", "CAPI B.2.5/deleting")
def test_incident_follows_the_words_of_the_owner() -> None:
    deferred = ASKED | {"reason": "RemediationDeferred", "message": "too many"}
    for conditions, words in (
        ((), ""),
        ((ASKED | {"status": "True"},), ""),
        ((ASKED,), "machine-1 is marked for its owner"),
        ((deferred,), "machine-1 is marked for its owner: RemediationDeferred: too many"),
    ):
        one = target(HEALTHY_NODE, of=machine(*conditions))
        assert check().under_way(one) == words
        assert one.is_marked is bool(words)
        assert WITH_TEMPLATE.under_way(one) == ""
    going = target(HEALTHY_NODE, of=machine(deferred, is_going=True))
    assert check().under_way(going) == WITH_TEMPLATE.under_way(going) == "machine-1 is being deleted"


@pytest.mark.rule("rule 33")
def test_nodes_are_read_in_the_workload_cluster_once_there_is_one() -> None:
    assert check().node_cluster(EVERYTHING_READY) == target().node_cluster == "fleet/edge"
    assert check().node_cluster(in_cluster(cluster(initialized="False"))) == ""
    assert check().node_cluster(ClusterContext()) == ""
    assert kubeconfig_secret("fleet/edge") == SecretField("fleet", "edge-kubeconfig", "value")


def test_heartbeat_of_a_cluster_changes_nothing() -> None:
    assert judge([cluster(version="8")]) == judge([cluster(version="7")])
    assert hash(cluster(version="8")) == hash(cluster(version="7"))
    assert judge([cluster(paused=True)]) != judge([cluster()])
    assert Clusters.in_context(ClusterContext()).of(NAMESPACE, "edge") is None


@pytest.mark.rule("CAPI B.1/kind", "rule 32")
def test_machine_of_v1beta1_is_read_by_its_own_conditions_before_the_later_ones() -> None:
    status = {
        "conditions": [{"type": "OwnerRemediated", "status": "True"}],
        "v1beta2": {
            "conditions": [
                {"type": "OwnerRemediated", "status": "False", "reason": "MachineDeleting"},
                {"type": "InfrastructureReady", "status": "True"},
            ]
        },
        "nodeRef": {"kind": "Node", "name": "node-1"},
    }
    metadata = {
        "name": "m",
        "namespace": NAMESPACE,
        "uid": "u",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": LABELS,
        "ownerReferences": [MACHINE_SET],
    }
    one = MachineTarget(Machine.model_validate({"metadata": metadata, "status": status}))
    assert (one.is_marked, one.node_name, one.replaced_by) == (False, "node-1", "MachineSet/workers-a")
    assert [known.type for known in one.machine.status.conditions] == [
        "OwnerRemediated",
        "InfrastructureReady",
    ]


READY = {"conditions": [condition("InfrastructureReady", "True", NOW)]}


@pytest.mark.parametrize(
    ("status", "is_ready"),
    [
        ({}, False),
        ({"infrastructureReady": False, "controlPlaneReady": False}, False),
        ({"infrastructureReady": True}, False),
        ({"infrastructureReady": True, "conditions": []}, False),
        ({"infrastructureReady": True, **READY}, True),
        (READY, True),
        ({"v1beta2": READY}, True),
    ],
)
def test_only_a_condition_says_that_the_infrastructure_is_ready(
    status: dict[str, Any], *, is_ready: bool
) -> None:
    found = ClusterStatus.model_validate(status).infrastructure_ready
    assert (found is not None and found.is_true) is is_ready
