"""Requests for Machines of Cluster API, whose they are, and to which Cluster a check belongs."""

from typing import Any

import pytest

from health.kinds.clusterapi.cluster import metadata_patch
from health.kinds.clusterapi.group import V1BETA1, V1BETA2
from health.kinds.clusterapi.kind import new_request
from health.model.references import Step, TemplateReference
from health.model.remediation_request import RemediationAttempt
from tests.health.clusterapi.test_events import INCIDENT as OF_INCIDENT
from tests.support.values.cluster_api import NAMESPACE, TEMPLATE, cluster, machine

STEP = Step(
    template=TemplateReference(
        api_version=TEMPLATE["apiVersion"], kind=TEMPLATE["kind"], namespace=NAMESPACE, name=TEMPLATE["name"]
    )
)
OWNER = {"apiVersion": V1BETA2, "kind": "Machine", "name": "machine-1", "uid": "machine-uid"}


def made(template: dict[str, Any], api_version: str = V1BETA2) -> dict[str, Any]:
    attempt = RemediationAttempt(incident=OF_INCIDENT, run_id="run-1")
    return new_request(attempt, STEP, template=template, machine=machine(api_version=api_version))


@pytest.mark.rule("CAPI B.2.5/request", "CAPI B.1/annotation/cloned-from", "CAPI B.1/templateRef")
def test_request_has_what_the_template_says_the_label_and_the_machine_as_its_one_owner() -> None:
    contents = {"metadata": {"labels": {"a": "label"}, "annotations": {"an": "annotation"}}, "spec": {"x": 1}}
    assert made({"spec": {"template": contents}}) == {
        "apiVersion": TEMPLATE["apiVersion"],
        "kind": "Metal3Remediation",
        "metadata": {
            "name": "machine-1",
            "namespace": NAMESPACE,
            "labels": {"a": "label", "cluster.x-k8s.io/cluster-name": "edge"},
            "annotations": {
                "an": "annotation",
                "cluster.x-k8s.io/cloned-from-name": "reboot",
                "cluster.x-k8s.io/cloned-from-groupkind": (
                    "Metal3RemediationTemplate.infrastructure.cluster.x-k8s.io"
                ),
                "paramedic.dev/incident": OF_INCIDENT.workflow_id,
                "paramedic.dev/target-uid": "machine-uid",
            },
            "ownerReferences": [OWNER],
        },
        "spec": {"x": 1},
    }


@pytest.mark.rule("CAPI B.2.5/request")
@pytest.mark.parametrize("template", [{}, {"spec": None}, {"spec": {}}, {"spec": {"template": "x"}}])
def test_template_without_contents_is_tolerated(template: dict[str, Any]) -> None:
    body = made(template)
    assert (body["kind"], body["metadata"]["name"]) == ("Metal3Remediation", "machine-1")
    assert "spec" not in body


@pytest.mark.rule("rule 32")
def test_owner_is_named_in_the_version_that_is_served() -> None:
    (owner,) = made({}, V1BETA1)["metadata"]["ownerReferences"]
    assert owner == OWNER | {"apiVersion": V1BETA1}


CLUSTER_OWNER = {"apiVersion": V1BETA2, "kind": "Cluster", "name": "edge", "uid": "cluster-uid"}
LABEL = {"cluster.x-k8s.io/cluster-name": "edge"}
OTHER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "y", "blockOwnerDeletion": True}


@pytest.mark.rule("CAPI B.1/label", "CAPI B.1/owner", "CAPI B.1/ClusterClass")
def test_check_gets_the_label_and_its_cluster_as_an_owner_beside_others() -> None:
    wanted = {"labels": LABEL, "ownerReferences": [OTHER, CLUSTER_OWNER]}
    assert metadata_patch({"ownerReferences": [OTHER]}, V1BETA2, cluster()) == wanted
    assert metadata_patch(wanted, V1BETA2, cluster()) == {}
    assert metadata_patch(wanted, V1BETA1, cluster()) == {}
    as_controller = {"labels": LABEL, "ownerReferences": [CLUSTER_OWNER | {"controller": True}]}
    assert metadata_patch(as_controller, V1BETA2, cluster()) == {}


@pytest.mark.rule("CAPI B.1/owner")
def test_owner_reference_to_an_earlier_cluster_of_that_name_is_replaced() -> None:
    earlier = {"labels": LABEL, "ownerReferences": [CLUSTER_OWNER | {"uid": "earlier"}]}
    assert metadata_patch(earlier, V1BETA1, cluster()) == {
        "ownerReferences": [CLUSTER_OWNER | {"apiVersion": V1BETA1}]
    }
