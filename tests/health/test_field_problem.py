"""Errors about documents of users name field, value and rule in plain words, whatever the document holds."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from health.kinds.check_kind import CheckKind
from health.kinds.clusterapi.group import V1BETA1, V1BETA2
from health.kinds.nodehealthcheck.admission_review import CheckOperation, Facts, Operation, refusals
from health.kinds.registry import CHECK_KINDS
from health.model.invalid_check import InvalidCheckError
from health.model.remediation_order import RemediationOrder
from health.policy.check_choices import CheckChoices
from health.policy.policy import Policy
from objects.field_problem import LONGEST_FIELD, LONGEST_PROBLEM, LONGEST_VALUE, FieldProblem, quoted
from tests.support.values import builders, cluster_api, openshift
from tests.support.values.extremes import VALUES, mutated

PYDANTIC = re.compile(
    r"Input should|Field required|should (have|match|be a)|Extra inputs|[Vv]alid (string|integer|list)"
    r"|unable to|Value error|function-|str-enum|lax-or|pydantic|\bNone\b|\btuple\b|\bdict\b|validation error"
)
LONGEST = LONGEST_FIELD + LONGEST_PROBLEM + 2 * LONGEST_VALUE + len("Invalid selector: ") + len(":  (found )")
NODE_CHECK = builders.check_object(
    unhealthyConditions=[{"type": "Ready", "status": "Unknown", "duration": "5m"}],
    selector={
        "matchLabels": {"role": "worker"},
        "matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}],
    },
    healthyDelay="1m",
    pauseRequests=["reason"],
)
MACHINE_CHECK = openshift.check_object(
    selector={"matchLabels": {"role": "worker"}},
    unhealthyConditions=[openshift.NOT_READY],
    maxUnhealthy="40%",
    nodeStartupTimeout="10m",
    remediationTemplate=openshift.TEMPLATE,
)
OLD_CHECK = cluster_api.check_object(
    api_version=V1BETA1,
    maxUnhealthy="40%",
    unhealthyRange="[1-2]",
    unhealthyConditions=[{"type": "Ready", "status": "False", "timeout": "5m"}],
    remediationTemplate=cluster_api.TEMPLATE,
)
NEW_CHECK = cluster_api.check_object(
    api_version=V1BETA2,
    checks={"nodeStartupTimeoutSeconds": 60, "unhealthyNodeConditions": [cluster_api.NOT_READY]},
    remediation={
        "triggerIf": {"unhealthyLessThanOrEqualTo": "40%"},
        "templateRef": cluster_api.TEMPLATE,
    },
)
CHECKS = (NODE_CHECK, MACHINE_CHECK, OLD_CHECK, NEW_CHECK)
POLICY = {
    "stalenessLimit": "30s",
    "outageGuard": {"minimumNodes": 3, "percentage": 60},
    "shadow": True,
    "heldNodes": {"cordoned": True, "tainted": ["a"]},
    "limits": {"maxInFlight": 3, "maxInFlightByLabel": {"zone": 1}},
    "quorumLabels": ["a=b"],
    "maintenanceWindows": [
        {"name": "nights", "schedule": "0 22 * * *", "duration": "6h", "remediation": "Allowed"}
    ],
    "notifications": [{"name": "oncall", "urlFile": "url", "events": ["Held"]}],
}
ORDER = {
    "check": "NodeHealthCheck/workers",
    "reason": "disk",
    "identity": "ada",
    "given": "2026-03-01T12:00:00Z",
    "until": "2026-03-01T13:00:00Z",
}
ANNOTATIONS = [f"paramedic.dev/{name.replace('_', '-')}" for name in CheckChoices.model_fields]


def of(error: ValidationError) -> str:
    return str(FieldProblem.of(error))


def problem_of(parse: Callable[[Any], object], document: object) -> FieldProblem | None:
    """The problem of a document; None: it is valid."""
    try:
        parse(document)
    except InvalidCheckError as error:
        return error.problem
    except ValidationError as error:
        return FieldProblem.of(error)
    return None


def is_plain(sentence: object, document: object) -> bool:
    """True for words of ours, apart from those that the writer of the document chose."""
    text, written = str(sentence), json.dumps(document)
    theirs = [found for found in PYDANTIC.finditer(text) if found.group() not in written]
    return text.isprintable() and len(text) <= LONGEST and not theirs


@given(st.one_of([mutated(check) for check in CHECKS]), st.sampled_from([*CHECK_KINDS.values()]))
def test_problem_of_a_check_names_a_field_of_its_kind(body: dict[str, Any], kind: CheckKind) -> None:
    problem = problem_of(kind.parse, body)
    if problem is not None:
        assert problem.field.partition(".")[0] in {"apiVersion", "metadata", "spec"}
        assert is_plain(problem, body)


@given(mutated(NODE_CHECK))
def test_webhook_refuses_a_check_in_plain_words(body: dict[str, Any]) -> None:
    change = CheckOperation(Operation.CREATE, body, {})
    assert all(is_plain(sentence, body) for sentence in refusals(change, Facts()))


@pytest.mark.parametrize(("model", "valid"), [(Policy, POLICY), (RemediationOrder, ORDER)])
def test_policy_and_order_are_valid_before_they_are_mutated(
    model: type[BaseModel], valid: Mapping[str, Any]
) -> None:
    assert model.model_validate(valid)


POLICIES_AND_ORDERS = st.tuples(st.just(Policy), mutated(POLICY)) | st.tuples(
    st.just(RemediationOrder), mutated(ORDER)
)


@given(POLICIES_AND_ORDERS)
def test_policy_and_order_to_remediate_are_refused_in_plain_words(
    case: tuple[type[BaseModel], dict[str, Any]],
) -> None:
    model, body = case
    problem = problem_of(model.model_validate, body)
    assert problem is None or is_plain(problem, body)


@given(st.sampled_from(ANNOTATIONS), VALUES.map(str) | st.text())
def test_annotation_of_a_check_is_refused_by_name_in_plain_words(name: str, value: str) -> None:
    problem = problem_of(CheckChoices.of, {name: value})
    if problem is not None:
        assert problem.field == f"metadata.annotations[{name}]"
        assert is_plain(problem, value)


def nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "must be text (found null)"),
        (True, "must be text (found true)"),
        (3, "must be text (found 3)"),
        (1.5, "must be text (found 1.5)"),
        ([1, "a"], 'must be text (found [1, "a"])'),
        ({"a": None}, 'must be text (found {"a": null})'),
        (["x" * 1_000_000], f'must be text (found ["{"x" * 197}…)'),
        ([0] * 1_000_000, "must be text (found [0, 0, 0, "),
        (nested(100_000), f"must be text (found {'[' * 199}…)"),
        (["\x1b[31m\u202e\n"], 'must be text (found ["\\u001b[31m\\u202e\\n"])'),
        (float("nan"), "must be text (found NaN)"),
    ],
)
def test_value_of_another_type_is_shown_as_json_and_cut(value: object, words: str) -> None:
    with pytest.raises(ValidationError) as refused:
        TypeAdapter(dict[str, str]).validate_python({"a": value})
    assert of(refused.value).startswith(f"a: {words}")
    assert len(of(refused.value)) < 250


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("a b", "'a b'"),
        ("\x1b[31m", "'\\x1b[31m'"),
        ("\u202etxt", "'\\u202etxt'"),
        ("x" * 1_000, f"'{'x' * 199}…'"),
        ("\x00" * 1_000, "'" + "\\x00" * 99),
        ("\ud800", "'\\ud800'"),
    ],
)
def test_text_is_quoted_printable_and_cut(value: str, shown: str) -> None:
    assert quoted(value).startswith(shown)
    assert quoted(value).isprintable()
    assert len(quoted(value)) <= 2 * LONGEST_VALUE


@pytest.mark.parametrize(
    ("key", "field"),
    [
        ("a\nb", "spec.a\\nb"),
        ("\u202e", "spec.\\u202e"),
        ("k" * 1_000_000, f"spec.{'k' * 250}…"),
        ("", "spec."),
    ],
)
def test_names_in_the_field_are_printable_and_cut(key: str, field: str) -> None:
    with pytest.raises(ValidationError) as refused:
        TypeAdapter(dict[str, dict[str, int]]).validate_python({"spec": {key: "x"}})
    assert FieldProblem.of(refused.value).field == field


def test_error_of_a_type_without_words_quotes_no_library() -> None:
    with pytest.raises(ValidationError) as refused:
        TypeAdapter(dict[str, bytes]).validate_python({"a": 3})
    assert of(refused.value) == "a: is not valid (found 3)"


def test_secret_value_is_not_read() -> None:
    with pytest.raises(ValidationError) as refused:
        TypeAdapter(dict[str, int]).validate_python({"a": "secret"})
    assert str(FieldProblem.of(refused.value, longest_value=0)) == "a: must be an integer"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"reason": "a', "it is no JSON: it ends too early at line 1, column 13"),
        ("{reason: 1}", "it is no JSON at line 1, column 2"),
        ("[" * 300, "it is nested too deeply at line 1, column 202"),
    ],
)
def test_text_that_is_no_json_is_reported_with_its_place(text: str, words: str) -> None:
    with pytest.raises(ValidationError) as refused:
        TypeAdapter(dict[str, int]).validate_json(text)
    assert FieldProblem.of(refused.value).words == words


@pytest.mark.parametrize(("least", "words"), [(1, "1 item"), (2, "2 items")])
def test_bound_of_a_list_names_its_number_of_items(least: int, words: str) -> None:
    with pytest.raises(ValidationError) as refused:
        TypeAdapter(Annotated[list[int], Field(min_length=least)]).validate_python([])
    assert FieldProblem.of(refused.value).words == f"must have at least {words}"
