"""Valid specs of a MachineHealthCheck, in either version (CAPI B.1, rules 8 and 44)."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.kinds.clusterapi.check import MachineHealthCheck
from health.kinds.clusterapi.group import V1BETA1, V1BETA2
from objects.durations import as_go
from objects.field_problem import quoted
from tests.support.values.cluster_api import PAUSED, TEMPLATE, check_object, refusal

STATUSES = st.sampled_from(["True", "False", "Unknown"])
SECONDS = st.integers(0, 2**31 - 1)
CONDITIONS = st.lists(st.tuples(st.sampled_from(["A", "B", "C"]), STATUSES, SECONDS), max_size=3)
AMOUNTS = st.integers(-(2**31) + 1, 2**31 - 1) | st.integers(0, 1000).map(lambda share: f"{share}%")
RANGES = st.tuples(st.integers(0, 50), st.integers(0, 50)).map(lambda ends: f"[{min(ends)}-{max(ends)}]")


def spec_of(api_version: str, **spec: Any) -> Any:
    return MachineHealthCheck.parse(check_object(api_version=api_version, **spec)).spec


@pytest.mark.rule(
    "CAPI B.1/kind",
    "CAPI B.1/unhealthyNodeConditions",
    "CAPI B.1/unhealthyMachineConditions",
    "CAPI B.1/templateRef",
)
@given(
    of_node=CONDITIONS,
    of_machine=CONDITIONS,
    startup=st.none() | SECONDS,
    amount=st.none() | AMOUNTS,
    ends=st.none() | RANGES,
    template=st.sampled_from([None, TEMPLATE]),
)
def test_either_version_of_one_check_says_the_same(  # noqa: PLR0913, PLR0917  each is a field
    of_node: list[Any],
    of_machine: list[Any],
    startup: int | None,
    amount: object,
    ends: str | None,
    template: dict[str, str] | None,
) -> None:
    def seconds(conditions: list[Any]) -> list[dict[str, Any]] | None:
        return [{"type": t, "status": s, "timeoutSeconds": n} for t, s, n in conditions] or None

    def timeouts(conditions: list[Any]) -> list[dict[str, Any]]:
        return [{"type": t, "status": s, "timeout": as_go(timedelta(seconds=n))} for t, s, n in conditions]

    def given_of(**fields: Any) -> dict[str, Any] | None:
        return {key: value for key, value in fields.items() if value is not None} or None

    trigger = given_of(unhealthyLessThanOrEqualTo=amount, unhealthyInRange=ends)
    new = spec_of(
        V1BETA2,
        checks=given_of(
            nodeStartupTimeoutSeconds=startup,
            unhealthyNodeConditions=seconds(of_node),
            unhealthyMachineConditions=seconds(of_machine),
        ),
        remediation=given_of(triggerIf=trigger, templateRef=template),
    )
    old = spec_of(
        V1BETA1,
        unhealthyConditions=timeouts(of_node),
        unhealthyMachineConditions=timeouts(of_machine),
        nodeStartupTimeout=None if startup is None else as_go(timedelta(seconds=startup)),
        maxUnhealthy=amount,
        unhealthyRange=ends,
        remediationTemplate=None if template is None else template | {"namespace": "elsewhere"},
    )
    assert new.model_dump() == old.model_dump()


@pytest.mark.rule("CAPI B.1/nodeStartupTimeout", "CAPI B.1/unhealthyLessThanOrEqualTo")
def test_check_that_says_nothing_more_has_the_defaults() -> None:
    for version in (V1BETA2, V1BETA1):
        spec = spec_of(version)
        assert (spec.node_startup, spec.node_conditions, spec.machine_conditions, spec.template) == (
            timedelta(minutes=10),
            (),
            (),
            None,
        )
        assert str(spec.trigger) == "100%"


@pytest.mark.rule("CAPI B.1/no conversion", "rule 32")
def test_fields_say_which_version_a_spec_is_of_without_conversion() -> None:
    assert str(spec_of(V1BETA2, maxUnhealthy=2).trigger) == "2"
    assert str(spec_of(V1BETA1, remediation={"triggerIf": {"unhealthyInRange": "[1-2]"}}).trigger) == "[1-2]"
    assert str(spec_of(V1BETA1, maxUnhealthy=2, remediation={}).trigger) == "2"


def of_node(**condition: Any) -> dict[str, Any]:
    return {"checks": {"unhealthyNodeConditions": [condition]}}


def of_trigger(**trigger: Any) -> dict[str, Any]:
    return {"remediation": {"triggerIf": trigger}}


def of_machine(type_: str) -> dict[str, Any]:
    condition = {"type": type_, "status": "False", "timeoutSeconds": 1}
    return {"checks": {"unhealthyMachineConditions": [condition]}}


@pytest.mark.rule("CAPI B.1/refused", "CAPI B.1/clusterName", "rule 8", "rule 44")
@pytest.mark.parametrize(
    ("spec", "field", "value"),
    [
        ({"clusterName": None}, "spec.clusterName", None),
        ({"clusterName": ".."}, "spec.clusterName", ".."),
        ({"clusterName": "a/b"}, "spec.clusterName", "a/b"),
        ({"selector": None}, "spec.selector", None),
        (of_node(status="False", timeoutSeconds=1), "spec.checks.unhealthyNodeConditions[0].type", None),
        (
            of_node(type="Ready", status="", timeoutSeconds=1),
            "spec.checks.unhealthyNodeConditions[0].status",
            "",
        ),
        (
            of_node(type="Ready", status="False"),
            "spec.checks.unhealthyNodeConditions[0].timeoutSeconds",
            None,
        ),
        (
            of_node(type="Ready", status="False", timeoutSeconds=-1),
            "spec.checks.unhealthyNodeConditions[0].timeoutSeconds",
            -1,
        ),
        (
            {"checks": {"nodeStartupTimeoutSeconds": 2**31}},
            "spec.checks.nodeStartupTimeoutSeconds",
            2**31,
        ),
        (
            {"checks": {"unhealthyExpressions": [{"expression": "true", "message": "m"}]}},
            "spec.checks.unhealthyExpressions",
            [{"expression": "true", "message": "m"}],
        ),
        (
            of_machine("HealthCheckSucceeded"),
            "spec.checks.unhealthyMachineConditions[0].type",
            "HealthCheckSucceeded",
        ),
        (of_machine("Ready"), "spec.checks.unhealthyMachineConditions[0].type", "Ready"),
        (
            of_trigger(unhealthyLessThanOrEqualTo="half"),
            "spec.remediation.triggerIf.unhealthyLessThanOrEqualTo",
            "half",
        ),
        (
            of_trigger(unhealthyLessThanOrEqualTo=2**31),
            "spec.remediation.triggerIf.unhealthyLessThanOrEqualTo",
            2**31,
        ),
        (
            of_trigger(unhealthyLessThanOrEqualTo="9" * 5000),
            "spec.remediation.triggerIf.unhealthyLessThanOrEqualTo",
            "9" * 5000,
        ),
        (
            of_trigger(unhealthyInRange="[5-2]"),
            "spec.remediation.triggerIf.unhealthyInRange",
            "[5-2]",
        ),
        (
            of_trigger(unhealthyInRange="[0-4294967296]"),
            "spec.remediation.triggerIf.unhealthyInRange",
            "[0-4294967296]",
        ),
        (of_trigger(unhealthyInRange="2-5"), "spec.remediation.triggerIf.unhealthyInRange", "2-5"),
        ({"maxUnhealthy": "x"}, "spec.maxUnhealthy", "x"),
        ({"unhealthyRange": "[5-2]"}, "spec.unhealthyRange", "[5-2]"),
        ({"nodeStartupTimeout": "-5m"}, "spec.nodeStartupTimeout", "-5m"),
        ({"nodeStartupTimeout": "99999999999h"}, "spec.nodeStartupTimeout", "99999999999h"),
        (
            {"remediation": {"templateRef": {"kind": "T", "name": "t"}}},
            "spec.remediation.templateRef.apiVersion",
            None,
        ),
    ],
)
def test_impossible_spec_is_refused_with_field_and_value(
    spec: dict[str, Any], field: str, value: object
) -> None:
    refused = refusal(**spec)
    assert refused.problem is not None
    found = None if value is None else quoted(value)
    assert (refused.problem.field, refused.problem.found, refused.api_version) == (field, found, V1BETA2)


@pytest.mark.rule("rule 7")
def test_check_that_cannot_be_read_may_be_paused() -> None:
    problem = refusal(PAUSED, maxUnhealthy="x")
    assert problem.is_paused
    assert problem.api_version == V1BETA2


@pytest.mark.rule("CAPI B.1/unhealthyInRange")
def test_empty_range_is_none() -> None:
    assert str(spec_of(V1BETA1, unhealthyRange="", maxUnhealthy=1).trigger) == "1"
