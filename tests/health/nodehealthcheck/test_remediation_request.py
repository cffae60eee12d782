"""Requests for Nodes, as remediators read them (NHC 2.4/3)."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.kinds.nodehealthcheck.kind import new_request, request_name
from health.model.references import RequestReference, Step, TemplateReference
from health.model.remediation_request import (
    MULTIPLE_TEMPLATES,
    RemediationAttempt,
    RemediationRequest,
)
from objects.metadata import OwnerReference
from tests.support.values.builders import INCIDENT, check, node

ATTEMPT = RemediationAttempt(incident=INCIDENT, run_id="run-1")
CHECK = OwnerReference(
    api_version="remediation.medik8s.io/v1alpha1", kind="NodeHealthCheck", name="workers", uid="check-uid"
)
MACHINE = OwnerReference(
    api_version="machine.openshift.io/v1beta1", kind="Machine", name="machine-1", uid="machine-uid"
)
(STEP,) = check().steps
OBJECT = {
    "metadata": {"name": "reboot", "namespace": "remediators"},
    "spec": {"template": {"spec": {"retries": 3, "how": {"hard": True}}}},
}
SEVERAL = OBJECT | {"metadata": {"name": "reboot", "annotations": {MULTIPLE_TEMPLATES: ""}}}
LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
NODE_NAMES = st.from_regex(rf"{LABEL}(\.{LABEL})*", fullmatch=True).filter(lambda name: len(name) <= 253)


def attempt_on(name: str, **changes: Any) -> RemediationAttempt:
    target = INCIDENT.target.model_copy(update={"name": name})
    incident = INCIDENT.model_copy(update={"target": target})
    return ATTEMPT.model_copy(update={"incident": incident, **changes})


def made(**changes: Any) -> dict[str, Any]:
    parts: dict[str, Any] = {"template": OBJECT, "check": CHECK, "machine": None, "node": node()}
    return new_request(ATTEMPT, STEP, **(parts | changes))


@pytest.mark.rule(
    "NHC 1.7/node-name", "NHC 1.7/template-name", "NHC 1.7/part-of", "NHC 2.4/3", "NHC 2.4/3/owners"
)
def test_request_contains_what_remediators_know() -> None:
    assert made() == {
        "apiVersion": "example.com/v1",
        "kind": "Reboot",
        "metadata": {
            "name": "node-1",
            "namespace": "remediators",
            "labels": {"app.kubernetes.io/part-of": "node-healthcheck-controller"},
            "annotations": {
                "remediation.medik8s.io/node-name": "node-1",
                "remediation.medik8s.io/template-name": "reboot",
                "paramedic.dev/incident": ("remediation/main-0a1b/NodeHealthCheck/workers/node-1/11111111"),
                "paramedic.dev/target-uid": "11111111-2222-3333-4444-555555555555",
            },
            "ownerReferences": [
                {
                    "apiVersion": "remediation.medik8s.io/v1alpha1",
                    "kind": "NodeHealthCheck",
                    "name": "workers",
                    "uid": "check-uid",
                    "controller": False,
                }
            ],
        },
        "spec": {"retries": 3, "how": {"hard": True}},
    }


@pytest.mark.rule("rule 14")
def test_request_says_which_remediation_in_a_row_it_is_of_unless_it_is_the_first() -> None:
    again = new_request(
        ATTEMPT.model_copy(update={"number": 3}),
        STEP,
        template=OBJECT,
        check=CHECK,
        machine=None,
        node=node(),
    )

    assert again["metadata"]["annotations"]["paramedic.dev/attempt"] == "3"
    assert "paramedic.dev/attempt" not in made()["metadata"]["annotations"]


@pytest.mark.rule("NHC 2.4/3/owners")
def test_machine_of_the_node_owns_the_request_as_well() -> None:
    owners = made(machine=MACHINE)["metadata"]["ownerReferences"]

    assert [owner["kind"] for owner in owners] == ["NodeHealthCheck", "Machine"]
    assert owners[1] == {
        "apiVersion": "machine.openshift.io/v1beta1",
        "kind": "Machine",
        "name": "machine-1",
        "uid": "machine-uid",
    }


@pytest.mark.rule("NHC 2.4/3/name")
def test_request_is_named_after_its_node() -> None:
    assert request_name(ATTEMPT, OBJECT) == "node-1"


@pytest.mark.rule("NHC 1.7/multiple-templates-support", "NHC 2.4/3/name")
@pytest.mark.parametrize(
    ("template", "prefix"),
    [pytest.param(OBJECT, None, id="one request"), pytest.param(SEVERAL, "node-1-", id="several")],
)
def test_request_that_is_one_of_several_says_what_the_operator_generates_its_name_from(
    template: dict[str, Any], prefix: str | None
) -> None:
    metadata = made(template=template)["metadata"]

    assert metadata.get("generateName") == prefix
    assert metadata["name"].startswith(prefix or "node-1")


@pytest.mark.rule("NHC 1.7/multiple-templates-support", "NHC 2.4/3/name")
def test_template_that_allows_several_requests_gives_each_a_name_of_its_own() -> None:
    name = request_name(ATTEMPT, SEVERAL)

    assert re.fullmatch(r"node-1-[0-9a-f]{10}", name)
    other_template = OBJECT | {"metadata": {"name": "power-off", "annotations": {MULTIPLE_TEMPLATES: ""}}}
    others = [attempt_on("node-1", run_id="run-2"), attempt_on("node-2")]
    names = {request_name(other, SEVERAL) for other in others}
    assert len({name, request_name(ATTEMPT, other_template), *names}) == 4


def test_attempt_that_is_made_again_meets_its_own_request() -> None:
    assert request_name(ATTEMPT, SEVERAL) == request_name(attempt_on("node-1"), SEVERAL)


@pytest.mark.rule("NHC 2.4/3/name")
@given(NODE_NAMES | st.integers(1, 253).map(lambda n: ("a." * 127)[: n - 1] + "b"))
def test_every_name_is_one_that_the_api_server_takes(node_name: str) -> None:
    for template in (OBJECT, SEVERAL):
        name = request_name(attempt_on(node_name), template)
        assert len(name) <= 253
        assert re.fullmatch(rf"{LABEL}(\.{LABEL})*", name)


@pytest.mark.parametrize("cut_at", ["-", "."])
def test_name_that_is_cut_does_not_end_in_the_middle_of_a_mark(cut_at: str) -> None:
    name = request_name(attempt_on("a" * 241 + cut_at + "b" * 11), SEVERAL)

    assert re.fullmatch(r"a{241}-[0-9a-f]{10}", name)


def test_request_of_a_template_without_a_namespace_has_none() -> None:
    step = Step(template=TemplateReference(api_version="a/v1", kind="BTemplate", name="b"))
    body = new_request(ATTEMPT, step, template=OBJECT, check=CHECK, machine=None, node=node())

    assert body["metadata"]["namespace"] == ""


def test_created_request_is_read_back_unchanged() -> None:
    body = made()
    read = RemediationRequest.model_validate(
        body
        | {"metadata": body["metadata"] | {"uid": "request-uid", "creationTimestamp": "2026-03-01T12:00:00Z"}}
    )

    assert read.owner("NodeHealthCheck", "remediation.medik8s.io/v1alpha1") == "workers"
    assert read.target_uid == INCIDENT.target.uid
    assert read.reference("example.com/v1", "Reboot") == RequestReference(
        api_version="example.com/v1",
        kind="Reboot",
        namespace="remediators",
        name="node-1",
        uid="request-uid",
        template="reboot",
    )
