"""The parser of NodeHealthCheck: defaults, order, and refusals that name field and value (NHC 1.1)."""

from datetime import timedelta
from typing import Any

import pytest

from health.cluster.cluster_context import ClusterContext
from health.kinds.nodehealthcheck.check import NodeHealthCheck
from health.model.invalid_check import InvalidCheckError
from health.model.observation import HoldReason
from health.model.references import CheckReference, Step, TemplateReference
from health.model.verdict import Fact, Health
from objects.field_problem import LONGEST_PROBLEM
from tests.support.values.builders import (
    EMPTY_CONTEXT,
    NOW,
    TEMPLATE,
    check,
    check_object,
    condition,
    escalation,
    fact,
    node,
)

DELETION = {"kind": "MachineDeletionRemediationTemplate"}
READY = {"type": "Ready", "status": "False", "duration": "300s"}


def refusal(**spec: Any) -> str:
    with pytest.raises(InvalidCheckError) as caught:
        check(**spec)
    return str(caught.value)


def test_fields_of_a_parsed_check() -> None:
    parsed = check()

    assert parsed.reference == CheckReference(kind="NodeHealthCheck", name="workers")
    assert parsed.generation == 3
    assert parsed.hold_in(ClusterContext()) is None
    assert parsed.selects(node(labels={"role": "worker"}))
    assert not parsed.selects(node(labels={"role": "infra"}))
    assert parsed.allowance(total=10, healthy=6).allowed
    assert not parsed.allowance(total=10, healthy=5).allowed


@pytest.mark.rule("NHC 1.1/unhealthyConditions/default")
def test_node_that_is_not_ready_for_five_minutes_is_unhealthy_by_default() -> None:
    rules = [(rule.type, rule.status, rule.duration) for rule in check().node_rules]
    assert rules == [("Ready", status, timedelta(minutes=5)) for status in ("False", "Unknown")]


@pytest.mark.rule("NHC 1.1/unhealthyConditions/default")
def test_empty_list_of_conditions_stays_empty() -> None:
    parsed = check(unhealthyConditions=[])

    assert parsed.node_rules == ()
    assert not parsed.is_unhealthy(node(condition("Ready", "False")), EMPTY_CONTEXT)


def test_conditions_keep_their_order() -> None:
    listed = [READY | {"type": "B"}, READY | {"type": "A"}]

    assert [rule.type for rule in check(unhealthyConditions=listed).node_rules] == ["B", "A"]


@pytest.mark.rule("NHC 1.1/remediationTemplate")
def test_classic_remediation_is_one_step_without_a_limit() -> None:
    template = TemplateReference(
        api_version="example.com/v1", kind="RebootTemplate", namespace="remediators", name="reboot"
    )

    assert check().steps == (Step(template=template),)
    assert template.request_kind == "Reboot"


@pytest.mark.rule("NHC 1.1/escalatingRemediations", "NHC 2.4/2")
def test_escalation_goes_by_order_and_not_by_place_in_the_list() -> None:
    parsed = check(
        remediationTemplate=None,
        escalatingRemediations=[
            escalation(20, "10m", name="second"),
            escalation(-5, "1m", name="first"),
            escalation(21, "90s", name="third"),
        ],
    )

    assert [(step.template.name, step.timeout_seconds) for step in parsed.steps] == [
        ("first", 60),
        ("second", 600),
        ("third", 90),
    ]


@pytest.mark.rule(
    "NHC 1.1/webhook/both thresholds",
    "NHC 1.1/webhook/no threshold",
    "NHC 1.1/webhook/negative threshold",
    "NHC 1.1/webhook/deletion of Machines",
    "NHC 1.1/webhook/no selector",
    "NHC 1.1/webhook/invalid selector",
    "NHC 1.1/webhook/no template",
    "NHC 1.1/webhook/both templates",
    "NHC 1.1/webhook/duplicate order",
    "NHC 1.1/webhook/short timeout",
    "NHC 1.1/unhealthyConditions",
    "NHC 2.2/unusable",
    "rule 44/duration",
)
@pytest.mark.parametrize(
    ("spec", "refused"),
    [
        pytest.param(
            {"minHealthy": None},
            "spec: one of minHealthy and maxUnhealthy should be specified",
            id="no threshold",
        ),
        pytest.param(
            {"maxUnhealthy": 1},
            "spec: minHealthy and maxUnhealthy cannot be specified at the same time",
            id="two thresholds",
        ),
        pytest.param(
            {"minHealthy": -1},
            "spec.minHealthy: minHealthy must not be negative: -1",
            id="minHealthy is negative",
        ),
        pytest.param(
            {"minHealthy": None, "maxUnhealthy": -7},
            "spec.maxUnhealthy: maxUnhealthy must not be negative: -7",
            id="maxUnhealthy is negative",
        ),
        pytest.param(
            {"minHealthy": "101%"},
            "spec.minHealthy: must be a whole number or a percentage from 0% to 100% (found '101%')",
            id="more than 100%",
        ),
        pytest.param(
            {"minHealthy": 2**31},
            "spec.minHealthy: must fit into 32 bits (found 2147483648)",
            id="minHealthy has more than 32 bits",
        ),
        pytest.param({"selector": None}, "spec: Selector is mandatory", id="no selector"),
        pytest.param({"selector": {}}, "spec: Selector is mandatory", id="an empty selector"),
        pytest.param(
            {"selector": {"matchLabels": {}, "matchExpressions": []}},
            "spec: Selector is mandatory",
            id="a selector of empty parts",
        ),
        pytest.param(
            {"selector": {"matchLabels": {"a b": "c"}}},
            "spec.selector.matchLabels: Invalid selector: 'a b' is not a label key",
            id="a bad key",
        ),
        pytest.param(
            {"selector": {"matchLabels": {"a": "b c"}}},
            "spec.selector.matchLabels: Invalid selector: 'b c' is not a label value",
            id="a bad value",
        ),
        pytest.param(
            {"selector": {"matchExpressions": [{"key": "a b", "operator": "Exists"}]}},
            "spec.selector.matchExpressions[0].key: Invalid selector: 'a b' is not a label key",
            id="a bad key of an expression",
        ),
        pytest.param(
            {"selector": {"matchExpressions": [{"key": "a", "operator": "In"}]}},
            "spec.selector.matchExpressions[0]: Invalid selector: In of a needs values "
            '(found {"key": "a", "operator": "In"})',
            id="In without values",
        ),
        pytest.param(
            {"selector": {"matchExpressions": [{"key": "a", "operator": "Is"}]}},
            "spec.selector.matchExpressions[0].operator: Invalid selector: must be "
            "'In', 'NotIn', 'Exists' or 'DoesNotExist' (found 'Is')",
            id="an unknown operator",
        ),
        pytest.param(
            {"remediationTemplate": None},
            "spec: Either RemediationTemplate or at least one EscalatingRemediations must be set",
            id="no template",
        ),
        pytest.param(
            {"remediationTemplate": None, "escalatingRemediations": []},
            "spec: Either RemediationTemplate or at least one EscalatingRemediations must be set",
            id="an escalation of nothing",
        ),
        pytest.param(
            {"escalatingRemediations": [escalation(1)]},
            "spec: RemediationTemplate and EscalatingRemediations usage is mutual exclusive",
            id="both forms of templates",
        ),
        pytest.param(
            {"minHealthy": None, "maxUnhealthy": 1, "remediationTemplate": TEMPLATE | DELETION},
            "spec: maxUnhealthy can't be used with MachineDeletionRemediationTemplate",
            id="maxUnhealthy and deletion of machines",
        ),
        pytest.param(
            {
                "minHealthy": None,
                "maxUnhealthy": 1,
                "remediationTemplate": None,
                "escalatingRemediations": [
                    escalation(1),
                    escalation(2, kind="machinedeletionremediationTEMPLATE"),
                ],
            },
            "spec: maxUnhealthy can't be used with MachineDeletionRemediationTemplate escalating remediation",
            id="maxUnhealthy and deletion of machines as a step, in other letters",
        ),
        pytest.param(
            {"remediationTemplate": {"apiVersion": "example.com/v1", "name": "reboot"}},
            "spec.remediationTemplate.kind: is missing",
            id="a template without a kind",
        ),
        pytest.param(
            {"remediationTemplate": TEMPLATE | {"name": ""}},
            "spec.remediationTemplate.name: must not be empty (found '')",
            id="a template with an empty name",
        ),
        pytest.param(
            {"remediationTemplate": None, "escalatingRemediations": [escalation(1), escalation(1)]},
            "spec.escalatingRemediations: "
            "EscalatingRemediation Order must be unique: found duplicate order 1",
            id="an order twice",
        ),
        pytest.param(
            {"remediationTemplate": None, "escalatingRemediations": [escalation(1, "59.9s")]},
            "spec.escalatingRemediations[0].timeout: EscalatingRemediation Timeout must be at least one "
            "minute: found timeout 59.9s",
            id="a timeout under a minute",
        ),
        pytest.param(
            {"remediationTemplate": None, "escalatingRemediations": [escalation(1) | {"order": "1"}]},
            "spec.escalatingRemediations[0].order: must be an integer (found '1')",
            id="an order that is a string",
        ),
        pytest.param(
            {"unhealthyConditions": [READY | {"duration": "99999999999h"}]},
            "spec.unhealthyConditions[0].duration: is longer than any clock can hold (292 years) "
            "(found '99999999999h')",
            id="a duration that no clock can hold",
        ),
        pytest.param(
            {"unhealthyConditions": [READY, READY | {"status": "Unknown", "duration": "5 m"}]},
            "spec.unhealthyConditions[1].duration: must be a duration such as 300s, 5m or 1h30m "
            "(found '5 m')",
            id="no duration",
        ),
        pytest.param(
            {"unhealthyConditions": [READY, READY | {"duration": "1s"}]},
            "spec.unhealthyConditions: Duplicate value ('Ready', 'False')",
            id="a condition twice",
        ),
        pytest.param(
            {"unhealthyConditions": [READY | {"type": ""}]},
            "spec.unhealthyConditions[0].type: must not be empty (found '')",
            id="a condition without a type",
        ),
        pytest.param(
            {"healthyDelay": "soon"},
            "spec.healthyDelay: must be a duration such as 300s, 5m or 1h30m (found 'soon')",
            id="a delay that is none",
        ),
        pytest.param(
            {"stormCooldownDuration": "-5m"},
            "spec.stormCooldownDuration: must be a duration such as 300s, 5m or 1h30m (found '-5m')",
            id="a negative cooldown",
        ),
        pytest.param(
            {"pauseRequests": [1]},
            "spec.pauseRequests[0]: must be text (found 1)",
            id="a pause request that is no text",
        ),
    ],
)
def test_refusal_names_field_and_value(spec: dict[str, Any], refused: str) -> None:
    assert refusal(**spec) == refused


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"minHealthy": "x" * 10**6}, id="a value"),
        pytest.param({"selector": {"matchLabels": {"a": " " * 10**6}}}, id="a problem"),
    ],
)
def test_refusal_of_megabytes_still_fits_into_a_condition(spec: dict[str, Any]) -> None:
    assert len(refusal(**spec)) < 3 * LONGEST_PROBLEM


def test_check_without_a_spec_is_refused() -> None:
    with pytest.raises(InvalidCheckError, match=r"^spec: is missing$"):
        NodeHealthCheck.parse({"metadata": check_object()["metadata"]})


@pytest.mark.rule("NHC 1.1/stormCooldownDuration")
@pytest.mark.parametrize(
    ("spec", "cooldown"), [({}, None), ({"stormCooldownDuration": "1m30s"}, timedelta(seconds=90))]
)
def test_storm_cooldown_is_that_of_the_spec(spec: dict[str, Any], cooldown: timedelta | None) -> None:
    assert check(**spec).storm_cooldown == cooldown


@pytest.mark.rule("NHC 1.1/healthyDelay")
@pytest.mark.parametrize(
    ("spec", "delay"),
    [
        ({}, timedelta()),
        ({"healthyDelay": "0s"}, timedelta()),
        ({"healthyDelay": "1m30s"}, timedelta(seconds=90)),
        ({"healthyDelay": "-1s"}, timedelta(seconds=-1)),
    ],
)
def test_healthy_delay_is_that_of_the_spec(spec: dict[str, Any], delay: timedelta) -> None:
    assert check(**spec).healthy_delay == delay


@pytest.mark.rule("NHC 1.1/pauseRequests", "NHC 2.1/11")
def test_pause_requests_hold_the_check_and_are_reported() -> None:
    hold = check(pauseRequests=["update", "night shift"]).hold_in(ClusterContext())

    assert hold is not None
    assert (hold.reason, hold.message) == (HoldReason.PAUSED, "paused by request: update, night shift")


@pytest.mark.rule("NHC 1.1/unhealthyConditions")
def test_verdict_goes_by_the_conditions_of_the_check() -> None:
    parsed = check(unhealthyConditions=[READY | {"duration": "1m"}])
    broken = node(condition("Ready", "False"))

    assert parsed.verdict(broken, NOW + timedelta(seconds=61), EMPTY_CONTEXT).health is Health.EXPIRED
    assert parsed.is_unhealthy(broken, EMPTY_CONTEXT)
    assert not parsed.is_unhealthy(node(condition("Ready", "Unknown")), EMPTY_CONTEXT)


@pytest.mark.rule("rule 41")
@pytest.mark.parametrize(
    ("stated", "is_true"),
    [
        pytest.param(fact(NOW, "False"), True, id="as it is"),
        pytest.param(fact(NOW - timedelta(seconds=1), "False"), False, id="since another moment"),
        pytest.param(fact(NOW, "Unknown"), False, id="another status"),
        pytest.param(fact(NOW, "True", "DiskPressure"), False, id="true, but not called unhealthy"),
        pytest.param(fact(NOW, "True", "MemoryPressure"), False, id="a condition that is not there"),
    ],
)
def test_revalidation_compares_the_fact(stated: Fact, is_true: bool) -> None:  # noqa: FBT001  a column of the table
    broken = node(condition("Ready", "False"), condition("DiskPressure", "True"))

    assert check().still_states(stated, broken, ClusterContext()) is is_true
