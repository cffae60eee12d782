"""Findings about the admission policies that keep Cluster API's health checks off."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.doctor.finding import FindingSeverity
from cli.doctor.of_operators import (
    PoliciesInForce,
    absent_account,
    keeps_off,
    kept_off,
    policy_findings,
)
from health.kinds.clusterapi.kind import CLUSTER_API_MACHINE_HEALTH_CHECK as KIND
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from kube.resource import Object, Resource
from tests.cli.doctor.test_of_leases import lease

FILE = KIND.operator_policies.file if KIND.operator_policies else ""
SHIPPED: list[Object] = list(yaml.load_all(Path(FILE).read_text(), yaml.CSafeLoader))
POLICIES = [document for document in SHIPPED if document["kind"] == "ValidatingAdmissionPolicy"]
BINDINGS = [document for document in SHIPPED if document["kind"] == "ValidatingAdmissionPolicyBinding"]
GROUP = "infrastructure.cluster.x-k8s.io"
METAL3 = Resource(f"{GROUP}/v1beta1", "Metal3Remediation", "metal3remediations", namespaced=True)
OTHER = Resource(f"{GROUP}/v1beta1", "OtherRemediation", "otherremediations", namespaced=True)


def in_force(policies: Iterable[Object] = POLICIES, bindings: Iterable[Object] = BINDINGS) -> PoliciesInForce:
    return PoliciesInForce.of(policies, bindings)


def reasons(found: PoliciesInForce, *requests: Resource) -> list[str]:
    return [finding.reason for finding in policy_findings(KIND, found, requests)]


def test_file_that_is_shipped_keeps_it_off() -> None:
    assert keeps_off(KIND, in_force())
    assert reasons(in_force(), METAL3) == []
    assert KIND.operator_policies is not None
    assert in_force().service_accounts(KIND.operator_policies) == {("capi-system", "capi-manager")}


def test_other_kinds_go_by_no_policies() -> None:
    assert not keeps_off(NODE_HEALTH_CHECK, in_force())
    assert list(policy_findings(NODE_HEALTH_CHECK, in_force(), ())) == []


@pytest.mark.parametrize("missing", [policy["metadata"]["name"] for policy in POLICIES])
def test_policy_that_is_missing_is_named_where_others_are_there(missing: str) -> None:
    without = in_force([policy for policy in POLICIES if policy["metadata"]["name"] != missing])
    assert not keeps_off(KIND, without)
    (found,) = policy_findings(KIND, without, ())
    assert (found.severity, found.reason) == (FindingSeverity.WARNING, "OperatorPolicyMissing")
    assert missing in found.what


def test_binding_that_only_warns_refuses_nothing() -> None:
    warns: Any = [
        {"spec": binding["spec"] | {"validationActions": ["Warn", "Audit"]}} for binding in BINDINGS
    ]
    assert not keeps_off(KIND, in_force(bindings=warns))
    assert not keeps_off(KIND, in_force(bindings=()))
    assert reasons(in_force(bindings=())) == []  # none at all is no half of it: a note says so


def test_kind_of_requests_that_no_policy_names_is_reported() -> None:
    (found,) = policy_findings(KIND, in_force(), (METAL3, OTHER))
    assert (found.severity, found.reason) == (FindingSeverity.WARNING, "RequestsNotRefused")
    assert "otherremediations.infrastructure.cluster.x-k8s.io" in found.what


def test_policy_of_another_name_may_refuse_more_kinds_to_the_same_account() -> None:
    (shipped,) = (policy for policy in POLICIES if policy["metadata"]["name"].endswith("makes-no-requests"))
    rule = {"apiGroups": [GROUP], "operations": ["*"], "resources": ["*"]}
    spec = shipped["spec"] | {"matchConstraints": {"resourceRules": [rule]}}
    mine = {"metadata": {"name": "mine"}, "spec": spec}
    bound = {"spec": {"policyName": "mine", "validationActions": ["Deny"]}}
    assert reasons(in_force([*POLICIES, mine], [*BINDINGS, bound]), OTHER) == []
    of_another: Any = {**mine, "spec": spec | {"matchConditions": [{"expression": "true"}]}}
    assert reasons(in_force([*POLICIES, of_another], [*BINDINGS, bound]), OTHER) == ["RequestsNotRefused"]


def test_documented_set_up_is_a_note_and_never_tells_to_stop_it() -> None:
    found = kept_off(KIND, lease(1))
    assert (found.severity, found.reason) == (FindingSeverity.NOTE, "ReferenceKeptOff")
    assert found.advice.startswith("let it run")


def test_account_that_is_not_there_is_reported() -> None:
    found = absent_account(KIND, "capi-system", "capi-manager")
    assert found.severity is FindingSeverity.WARNING
    assert "capi-system/capi-manager" in found.what
