"""Orders by annotation: the message of a value, and the Event that answers."""

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from devcluster.manifests import ROOT
from health.kinds.clusterapi.machine import Machine as ClusterApiMachine
from health.kinds.openshift.machine import Machine
from health.model.node import Node
from health.model.order import OrderMessage, Refusal
from health.model.order_annotations import (
    ORDER_NAMES,
    AnnotatedObject,
    AnnotatedOrderKey,
    annotation_of,
    digest_of,
    orders_in,
)
from health.model.remediation_order import REMEDIATE
from health.runbook.annotated_order import (
    LONGEST_VALUE,
    Receipt,
    ReceiptOutcome,
    answered_event,
    no_incident,
    parsed,
)
from health.runbook.orders import ORDERS, AbortOrder, ClaimOrder, HoldOrder, ResumeOrder, SkipOrder
from objects.event import Severity

NODE = AnnotatedObject(kind="Node", group="", name="node-4", uid="uid-of-node-4")
IDENTITY = "kubectl annotation on Node/node-4 (manager kubectl-annotate)"
TWO_FORMS = 'write the reason in plain words, or a JSON object such as {"reason": "replacing its disk"}'
POLICIES = ROOT / "deploy" / "base" / "rbac" / "admission-policies.yaml"


def key(order: str = "hold") -> AnnotatedOrderKey:
    return AnnotatedOrderKey(cluster="lab", subject=NODE, order=order)


def message(value: str, order: str = "hold") -> OrderMessage | Refusal:
    return parsed(key(order), value, "kubectl-annotate")


def test_every_order_of_the_table_can_be_given_by_annotation() -> None:
    assert set(ORDER_NAMES) == set(ORDERS), "add a field to OrderAnnotations"


def test_admission_policies_let_the_worker_remove_each_order_and_no_setting_of_a_check() -> None:
    found = [_removable(policy) for policy in yaml.safe_load_all(POLICIES.read_text())]
    lists = [names for names in found if names]
    assert len(lists) == 3, "of Nodes, of OpenShift, and of all other objects"
    for names in lists:
        ours = {name for name in names if name.startswith("paramedic.dev/")}
        assert ours == {REMEDIATE, *(annotation_of(order) for order in ORDERS)}


def _removable(policy: dict[str, object]) -> list[str]:
    spec = policy["spec"]
    assert isinstance(spec, dict)
    variables = {one["name"]: one["expression"] for one in spec.get("variables", ())}
    return list(json.loads(variables.get("removable") or variables.get("orders") or "[]"))


@pytest.mark.parametrize("model", [Node, Machine, ClusterApiMachine])
def test_record_of_an_object_keeps_its_orders_and_no_value(
    model: type[Node | Machine | ClusterApiMachine],
) -> None:
    annotations = {"paramedic.dev/hold": "x" * 9_000, "paramedic.dev/other": "y", "theirs": "z"}
    metadata = {"name": "a", "namespace": "b", "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"}
    raw = json.dumps({"metadata": metadata | {"annotations": annotations}})
    found = model.model_validate_json(raw).metadata.annotations.orders
    assert found == orders_in(annotations) == (("hold", digest_of("x" * 9_000)),)


@pytest.mark.parametrize(
    ("order", "value", "expected"),
    [
        ("hold", "replacing its disk", HoldOrder(reason="replacing its disk", identity=IDENTITY)),
        ("abort", "  ", AbortOrder(identity=IDENTITY)),
        (
            "hold",
            "disk\x1b[2J\x07\n\u2028Normal  OrderTaken \u202e\u2067停電 \u0646\u200cم",
            HoldOrder(reason="disk [2J Normal  OrderTaken  停電 \u0646\u200cم", identity=IDENTITY),
        ),
        (
            "hold",
            '{"reason": "disk", "for_seconds": 3600}',
            HoldOrder(reason="disk", for_seconds=3600, identity=IDENTITY),
        ),
        ("skip", "hopeless", SkipOrder(reason="hopeless", identity=IDENTITY)),
        ("resume", '{"step": "reboot"}', ResumeOrder(step="reboot", identity=IDENTITY)),
        ("resume", "{}", ResumeOrder(identity=IDENTITY)),
        *(
            ("hold", value, HoldOrder(reason=value, identity=IDENTITY))
            for value in (
                "",
                "4711",
                "-4711",
                "1.5",
                "2026-11-28 kernel upgrade",
                "2026-11-28",
                "true love",
                "nullified by ada",
                "[INC-4711] replacing its disk",
                "[4711] replacing its disk",
                '"kernel" upgrade',
                '"',
                "9" * 500,
                "NaN",
                "True",
                "disk {sda} is broken",
            )
        ),
        ("claim", ' "replacing its disk" ', ClaimOrder(reason="replacing its disk", identity=IDENTITY)),
        ("hold", '""', HoldOrder(identity=IDENTITY)),
    ],
)
def test_value_is_the_reason_in_plain_words_or_a_json_object(
    order: str, value: str, expected: OrderMessage
) -> None:
    assert message(value, order) == expected


@pytest.mark.parametrize(
    ("order", "value", "field", "why"),
    [
        ("hold", "x" * (LONGEST_VALUE + 1), "", "4,097 characters"),
        ("hold", "x" * 1_001, "reason", "1,001 characters"),
        ("hold", '{"reason": "' + "x" * 1_001 + '"}', "reason", "1,001 characters"),
        (
            "hold",
            '{"reason": ',
            "",
            "it is no JSON: it ends too early at line 1, column 11: write the reason in plain",
        ),
        ("hold", '{"until": "noon"}', "", "no field 'until'; the fields are for_seconds, reason"),
        ("hold", '{"identity": "root"}', "", "no field 'identity'"),
        ("hold", '{"for_seconds": -5}', "for_seconds", "must be more than 0 (found -5)"),
        ("hold", '{"for_seconds": 9e99}', "for_seconds", "must be at most 31622400 (found 9e+99)"),
        ("hold", '{"for_seconds": "2h"}', "for_seconds", "must be a number (found '2h')"),
        ("hold", '{"for_seconds": [1]}', "for_seconds", "must be a number (found [1])"),
        ("hold", '{"reason": 5}', "reason", "must be text (found 5)"),
        ("skip", '{"step": ["reboot"]}', "step", 'must be text (found ["reboot"])'),
        ("skip", '{"step": ["' + "x" * 900 + '"]}', "step", 'must be text (found ["' + "x" * 57 + "…)"),
        ("resume", '{"for_seconds": 5}', "", "no field 'for_seconds'"),
        ("thaw", "", "", "no order 'thaw'"),
        ("hold", "[[" * (LONGEST_VALUE // 2), "", "begins like JSON, and it is nested too deeply"),
        *(
            ("claim", value, "", f"the value is {shown}: {TWO_FORMS}")
            for value, shown in {
                "null": "null",
                " true\n": "true",
                "false": "false",
                "[]": "[]",
                "[1,2]": "[1, 2]",
                '["disk"]': '["disk"]',
                '[{"reason": "disk"}]': '[{"reason": "disk"}]',
                f"[{'1,' * 1_000}1]": f"[{'1, ' * 19}1…",
            }.items()
        ),
        *(
            ("hold", value, "", "the value begins like JSON, and it is no JSON")
            for value in (
                "{",
                " {reason: disk}",
                '{"reason": "disk"',
                '["disk"',
                "[[1]",
                '[ {"a": 1}',
                "{}{}",
            )
        ),
    ],
)
def test_bad_value_is_refused_with_field_and_value(order: str, value: str, field: str, why: str) -> None:
    refusal = message(value, order)
    assert isinstance(refusal, Refusal)
    assert refusal.field == field
    assert why in refusal.why
    assert len(refusal.why) < 300


@given(st.text(max_size=5_000), st.sampled_from(sorted(ORDERS)))
def test_any_value_is_an_order_or_a_refusal(value: str, order: str) -> None:
    assert isinstance(message(value, order), OrderMessage | Refusal)


def test_hold_of_a_healthy_node_is_answered_with_the_label_that_keeps_it_out() -> None:
    assert "exclude-from-remediation=true" in no_incident(key("hold"))
    assert "exclude-from-remediation" not in no_incident(key("resume"))


def receipt(name: str, outcome: ReceiptOutcome = ReceiptOutcome.GIVEN) -> Receipt:
    return Receipt(incident=f"workers/{name}", outcome=outcome, words=f"answer of {name}")


def test_event_names_some_incidents_and_counts_the_others() -> None:
    event = answered_event(key(), "seed", [receipt(f"node-{number}") for number in range(5)], 0)
    assert (event.severity, event.reason) == (Severity.NORMAL, "OrderTaken")
    assert event.message == (
        "paramedic.dev/hold: workers/node-0: answer of node-0; workers/node-1: answer of node-1; "
        "workers/node-2: answer of node-2; and 2 more"
    )


def test_order_that_every_incident_refuses_is_refused() -> None:
    refused = [receipt("node-1", ReceiptOutcome.REFUSED)]
    event = answered_event(key("skip"), "seed", refused, 0)
    assert (event.severity, event.reason) == (Severity.WARNING, "OrderRefused")
    assert event.message == "paramedic.dev/skip: refused by workers/node-1: answer of node-1"
    mixed = answered_event(key("skip"), "seed", [*refused, receipt("node-2")], 3)
    assert mixed.reason == "OrderTaken"
    assert mixed.message.endswith(
        "refused by workers/node-1: answer of node-1; 3 more incidents did not get it: annotate their targets"
    )
