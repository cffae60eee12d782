"""Requests for Machines as remediators read them (MHC A.2.5), and whose they are."""

from typing import Any

import pytest

from health.kinds.openshift.kind import new_request
from health.model.references import (
    CheckReference,
    IncidentReference,
    Step,
    TargetReference,
    TemplateReference,
)
from health.model.remediation_request import (
    ATTEMPT,
    InvalidTemplateError,
    RemediationAttempt,
)
from tests.support.values.openshift import NAMESPACE, machine

CHECK = CheckReference(kind="MachineHealthCheck", namespace=NAMESPACE, name="workers")
TARGET = TargetReference(kind="Machine", namespace=NAMESPACE, name="machine-1", uid="machine-uid")
OF_INCIDENT = IncidentReference(cluster="c", check=CHECK, target=TARGET)
STEP = Step(
    template=TemplateReference(
        api_version="infrastructure.cluster.x-k8s.io/v1beta1",
        kind="Metal3RemediationTemplate",
        namespace=NAMESPACE,
        name="reboot",
    )
)
OWNER = {
    "apiVersion": "machine.openshift.io/v1beta1",
    "kind": "Machine",
    "name": "machine-1",
    "uid": "machine-uid",
}
CLONED = {
    "machine.openshift.io/cloned-from-name": "reboot",
    "machine.openshift.io/cloned-from-groupkind": "Metal3RemediationTemplate.infrastructure.cluster.x-k8s.io",
    "paramedic.dev/incident": f"remediation/c/MachineHealthCheck/{NAMESPACE}/workers/machine-1/machine-",
    "paramedic.dev/target-uid": "machine-uid",
}


def made(contents: object, *, number: int = 1, step: Step = STEP) -> dict[str, Any]:
    """The request made from a template with this spec.template."""
    attempt = RemediationAttempt(incident=OF_INCIDENT, run_id="run-1", number=number)
    return new_request(attempt, step, template={"spec": {"template": contents}}, machine=machine())


@pytest.mark.rule("MHC A.2.5/request", "MHC A.1/annotation/cloned-from")
def test_request_has_what_the_template_says_and_the_machine_as_its_one_owner() -> None:
    metadata = {
        "name": "dropped",
        "namespace": "dropped",
        "labels": {"a": "label"},
        "annotations": {"an": "annotation"},
        "finalizers": ["dropped"],
        "uid": "dropped",
        "resourceVersion": "1",
    }
    assert made({"metadata": metadata, "spec": {"strategy": {"type": "Reboot"}}}) == {
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
        "kind": "Metal3Remediation",
        "metadata": {
            "name": "machine-1",
            "namespace": NAMESPACE,
            "labels": {"a": "label"},
            "annotations": {"an": "annotation", **CLONED},
            "ownerReferences": [OWNER],
        },
        "spec": {"strategy": {"type": "Reboot"}},
    }


@pytest.mark.rule("MHC A.2.5/request")
@pytest.mark.parametrize(
    "contents",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"metadata": None}, id="null"),
        pytest.param({"metadata": ["x"]}, id="metadata that is none"),
        pytest.param({"metadata": {"labels": "x", "annotations": None}}, id="labels that are none"),
    ],
)
def test_template_needs_neither_spec_nor_metadata(contents: object) -> None:
    body = made(contents)
    assert "spec" not in body
    assert (body["metadata"]["labels"], body["metadata"]["annotations"]) == ({}, CLONED)


@pytest.mark.parametrize(
    "template",
    [
        pytest.param({}, id="no spec"),
        pytest.param({"spec": None}, id="null"),
        pytest.param({"spec": {}}, id="no template"),
        pytest.param({"spec": {"template": "x"}}, id="another type"),
    ],
)
def test_template_without_contents_is_refused(template: dict[str, Any]) -> None:
    attempt = RemediationAttempt(incident=OF_INCIDENT, run_id="run-1")
    with pytest.raises(InvalidTemplateError, match=rf"{NAMESPACE}/reboot, didn't find spec\.template"):
        new_request(attempt, STEP, template=template, machine=machine())


@pytest.mark.rule("rule 14")
def test_second_remediation_in_a_row_says_so() -> None:
    assert ATTEMPT not in made({})["metadata"]["annotations"]
    assert made({}, number=2)["metadata"]["annotations"][ATTEMPT] == "2"


def test_template_of_the_core_group_is_named_by_its_kind_alone() -> None:
    template = STEP.template.model_copy(update={"api_version": "v1", "kind": "PodTemplate"})
    annotations = made({}, step=Step(template=template))["metadata"]["annotations"]
    assert annotations["machine.openshift.io/cloned-from-groupkind"] == "PodTemplate"
