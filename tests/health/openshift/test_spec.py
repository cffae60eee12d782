"""The parser of MachineHealthCheck: what the operator can work with, and what is refused (MHC A.1)."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.check.threshold import IntOrPercent
from health.kinds.openshift.check import MachineHealthCheck
from objects.durations import parse_go_duration
from tests.support.values.openshift import NOT_READY, TEMPLATE, check, check_object, refusal

SECONDS_OF_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}


def rules_of(parsed: MachineHealthCheck) -> list[tuple[str, str, timedelta]]:
    return [(rule.type, rule.status, rule.duration) for rule in parsed.node_rules]


@pytest.mark.rule("MHC A.1/maxUnhealthy", "MHC A.1/nodeStartupTimeout", "MHC A.1/unhealthyConditions")
def test_check_that_says_nothing_has_the_defaults_of_the_schema() -> None:
    empty = check_object()
    del empty["spec"]
    for raw in (empty, check_object()):
        spec = MachineHealthCheck.parse(raw).spec
        assert spec.selector.is_empty
        assert spec.unhealthy_conditions == ()
        assert str(spec.max_unhealthy) == "100%"
        assert spec.node_startup_timeout == timedelta(minutes=10)
        assert spec.remediation_template is None


@pytest.mark.rule("MHC A.1/termination handler")
def test_check_that_openshift_installs_is_taken() -> None:
    parsed = MachineHealthCheck.parse(
        check_object(
            selector={"matchLabels": {"machine.openshift.io/interruptible-instance": ""}},
            maxUnhealthy="100%",
            nodeStartupTimeout="0",
            unhealthyConditions=[{"type": "Terminating", "status": "True", "timeout": "0s"}],
        )
    )

    assert rules_of(parsed) == [("Terminating", "True", timedelta())]
    assert parsed.spec.node_startup_timeout == timedelta()


@pytest.mark.rule("MHC A.1/unhealthyConditions")
def test_conditions_keep_their_order_may_repeat_and_may_be_of_any_status() -> None:
    listed = [NOT_READY, NOT_READY | {"status": "Maybe"}, NOT_READY | {"timeout": "1m"}]

    assert rules_of(check(unhealthyConditions=listed)) == [
        ("Ready", "False", timedelta(minutes=5)),
        ("Ready", "Maybe", timedelta(minutes=5)),
        ("Ready", "False", timedelta(minutes=1)),
    ]


@pytest.mark.rule("MHC A.1/maxUnhealthy", "rule 44")
@pytest.mark.parametrize(
    ("raw", "amount"),
    [
        ("40%", IntOrPercent(value=40, is_percent=True)),
        ("0%", IntOrPercent(value=0, is_percent=True)),
        ("100%", IntOrPercent(value=100, is_percent=True)),
        ("5", IntOrPercent(value=5)),
        (5, IntOrPercent(value=5)),
        (0, IntOrPercent(value=0)),
        (2**31 - 1, IntOrPercent(value=2**31 - 1)),
        (str(2**31 - 1), IntOrPercent(value=2**31 - 1)),
    ],
)
def test_max_unhealthy_is_a_number_or_a_share(raw: object, amount: IntOrPercent) -> None:
    assert check(maxUnhealthy=raw).spec.max_unhealthy == amount


@pytest.mark.rule("MHC A.1/nodeStartupTimeout")
@pytest.mark.parametrize(
    ("raw", "timeout"),
    [
        pytest.param("0", timedelta(), id="off, without a unit"),
        pytest.param("0s", timedelta(), id="off"),
        pytest.param("10m", timedelta(minutes=10), id="minutes"),
        pytest.param("1h30m", timedelta(minutes=90), id="two units"),
        pytest.param("1.5h", timedelta(minutes=90), id="a fraction"),
        pytest.param("+10m", timedelta(minutes=10), id="a sign, which the operator reads too"),
        pytest.param(".5h", timedelta(minutes=30), id="a bare fraction, which the operator reads too"),
        pytest.param("1h.5m", timedelta(hours=1, seconds=30), id="a bare fraction inside"),
    ],
)
def test_node_startup_timeout_is_what_the_operator_reads(raw: str, timeout: timedelta) -> None:
    assert check(nodeStartupTimeout=raw).spec.node_startup_timeout == timeout


@pytest.mark.rule("MHC A.1/refused", "rule 8", "rule 44/duration")
@pytest.mark.parametrize(
    ("spec", "refused"),
    [
        pytest.param(
            {"selector": {"matchLabels": {"bad key": "x"}}},
            "spec.selector.matchLabels: Invalid selector: 'bad key' is not a label key",
            id="a bad key",
        ),
        pytest.param(
            {"selector": {"matchExpressions": [{"key": "a", "operator": "In"}]}},
            "spec.selector.matchExpressions[0]: Invalid selector: In of a needs values "
            '(found {"key": "a", "operator": "In"})',
            id="In without values",
        ),
        pytest.param(
            {"selector": {"matchExpressions": [{"key": "a", "operator": "Like", "values": ["b"]}]}},
            "spec.selector.matchExpressions[0].operator: Invalid selector: must be "
            "'In', 'NotIn', 'Exists' or 'DoesNotExist' (found 'Like')",
            id="an unknown operator",
        ),
        pytest.param(
            {"maxUnhealthy": -1},
            "spec.maxUnhealthy: must not be negative (found -1)",
            id="maxUnhealthy is negative",
        ),
        pytest.param(
            {"maxUnhealthy": 2**31},
            "spec.maxUnhealthy: must fit into 32 bits (found 2147483648)",
            id="maxUnhealthy is absurd",
        ),
        pytest.param(
            {"maxUnhealthy": "99999999999"},
            "spec.maxUnhealthy: must fit into 32 bits (found '99999999999')",
            id="maxUnhealthy is absurd, as a string",
        ),
        pytest.param(
            {"maxUnhealthy": "101%"},
            "spec.maxUnhealthy: must be a whole number or a percentage from 0% to 100% (found '101%')",
            id="maxUnhealthy is no share",
        ),
        pytest.param(
            {"unhealthyConditions": [{"type": "Ready", "status": "False"}]},
            "spec.unhealthyConditions[0].timeout: is missing",
            id="no timeout",
        ),
        pytest.param(
            {"unhealthyConditions": [NOT_READY, {"status": "False", "timeout": "5m"}]},
            "spec.unhealthyConditions[1].type: is missing",
            id="no type",
        ),
        pytest.param(
            {"unhealthyConditions": [NOT_READY | {"timeout": "0"}]},
            "spec.unhealthyConditions[0].timeout: must be a duration such as 300s, 5m or 1h30m (found '0')",
            id="a timeout without a unit",
        ),
        pytest.param(
            {"unhealthyConditions": [NOT_READY | {"timeout": "99999999999h"}]},
            "spec.unhealthyConditions[0].timeout: is longer than any clock can hold (292 years) "
            "(found '99999999999h')",
            id="a timeout that no clock can hold",
        ),
        pytest.param(
            {"nodeStartupTimeout": "0abc"},
            "spec.nodeStartupTimeout: must be a duration such as 300s, 5m or 1h30m (found '0abc')",
            id="nodeStartupTimeout begins like zero",
        ),
        pytest.param(
            {"nodeStartupTimeout": "abc5m"},
            "spec.nodeStartupTimeout: must be a duration such as 300s, 5m or 1h30m (found 'abc5m')",
            id="nodeStartupTimeout ends like a duration",
        ),
        pytest.param(
            {"nodeStartupTimeout": "-5m"},
            "spec.nodeStartupTimeout: must be a duration such as 300s, 5m or 1h30m (found '-5m')",
            id="nodeStartupTimeout is negative",
        ),
        pytest.param(
            {"nodeStartupTimeout": "9999999h"},
            "spec.nodeStartupTimeout: is longer than any clock can hold (292 years) (found '9999999h')",
            id="nodeStartupTimeout that no clock can hold",
        ),
        pytest.param(
            {"remediationTemplate": {}},
            "spec.remediationTemplate.apiVersion: is missing",
            id="an empty template",
        ),
        pytest.param(
            {"remediationTemplate": TEMPLATE | {"name": ".."}},
            "spec.remediationTemplate.name: must have no '/' and no '%', and not only dots (found '..')",
            id="a template with a name that leads elsewhere",
        ),
        pytest.param(
            {"remediationTemplate": TEMPLATE | {"kind": "Template"}},
            "spec.remediationTemplate.kind: names no kind of remediation before Template (found 'Template')",
            id="a template of no kind of request",
        ),
    ],
)
def test_unusable_spec_is_refused_by_field_and_value(spec: dict[str, Any], refused: str) -> None:
    assert str(refusal(**spec).problem) == refused


@pytest.mark.rule("MHC A.1/nodeStartupTimeout")
@given(st.lists(st.tuples(st.integers(0, 9999), st.sampled_from(["ms", "s", "m", "h"])), min_size=1))
def test_every_duration_of_whole_parts_is_their_sum(parts: list[tuple[int, str]]) -> None:
    text = "".join(f"{number}{unit}" for number, unit in parts)
    seconds = sum(number * SECONDS_OF_UNITS[unit] for number, unit in parts)

    assert parse_go_duration(text).total_seconds() == pytest.approx(seconds)
