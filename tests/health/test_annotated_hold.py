"""The annotations of Nodes and Machines: how they are read, and the effect of `hold` and `approve`."""

import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from health.check.annotated_hold import answers_on, hold_on_check, hold_on_target
from health.kinds.clusterapi.machine import Machine as ClusterApiMachine
from health.kinds.clusterapi.machine import MachineAnnotations as ClusterApiAnnotations
from health.kinds.clusterapi.machine import MachineMetadata as ClusterApiMetadata
from health.kinds.clusterapi.machine import MachineTarget as ClusterApiTarget
from health.kinds.nodehealthcheck.check import NodeHealthCheck
from health.kinds.openshift.machine import Machine, MachineMetadata, MachineTarget
from health.kinds.openshift.machine import MachineAnnotations as OpenShiftAnnotations
from health.model.annotations import (
    APPROVE,
    HOLD,
    ON_TARGETS,
    PREFIX,
    REJECT,
    HoldAnnotation,
    TargetAnnotations,
    answer_in,
    hold_in,
)
from health.model.node import Node, NodeAnnotations, NodeMetadata
from health.model.observation import HoldReason
from health.model.remediation_order import LONGEST_VALUE
from health.policy.policy import DEFAULTS, Policy
from objects.short_text import LONGEST_TEXT
from tests.support.state.small_cluster_api import machine_object
from tests.support.values.builders import MINUTE, NOW, check_object, node_object

KINDS = (NodeAnnotations, OpenShiftAnnotations, ClusterApiAnnotations)
METADATA: tuple[type[Any], ...] = (NodeMetadata, MachineMetadata, ClusterApiMetadata)


def read(kind: type[TargetAnnotations], **annotations: str) -> TargetAnnotations:
    return TypeAdapter(kind).validate_json(json.dumps(annotations))


@pytest.mark.parametrize("kind", KINDS)
def test_annotation_that_has_only_the_name_of_a_field_means_nothing(kind: type[Any]) -> None:
    names = dict.fromkeys(kind.__pydantic_fields__, "x")
    assert read(kind, **names) == kind()


@pytest.mark.parametrize("kind", KINDS)
def test_each_annotation_is_read_by_its_full_name(kind: type[Any]) -> None:
    for name, field in kind.__pydantic_fields__.items():
        assert getattr(read(kind, **{field.alias: "x"}), name) not in {None, ""}


@pytest.mark.parametrize("kind", KINDS)
def test_first_annotation_of_ours_that_does_not_exist_is_kept_by_name(kind: type[Any]) -> None:
    orders = dict.fromkeys(ON_TARGETS, "x")
    assert read(kind, **orders, other="x").unknown == ""
    unknown = {f"{PREFIX}{name}": "x" for name in ("resum", "hlod")}
    assert read(kind, **orders, **unknown).unknown == f"{PREFIX}hlod"


def test_long_name_of_an_unknown_annotation_is_cut() -> None:
    name = f"{PREFIX}{'x' * 5000}"
    assert len(read(NodeAnnotations, **{name: ""}).unknown) <= LONGEST_TEXT


@pytest.mark.parametrize("metadata", METADATA)
def test_annotation_whose_value_is_no_text_is_left_out(metadata: type[Any]) -> None:
    annotations = {"paramedic.dev/hlod": [[]], "paramedic.dev/hold": 5, "paramedic.dev/reject": "x"}
    identity = {"name": "a", "namespace": "b", "uid": "c", "creationTimestamp": "2026-01-01T00:00:00Z"}
    text = json.dumps(identity | {"annotations": annotations})
    found = TypeAdapter(metadata).validate_json(text).annotations
    assert (found.unknown, found.hold) == ("", None)
    assert found.reject is not None


UNTIL = "2026-03-01T13:00:00Z"
IN_AN_HOUR = NOW + timedelta(hours=1)


def node(**annotations: str) -> Node:
    named = {f"paramedic.dev/{name}": text for name, text in annotations.items()}
    return Node.model_validate(node_object(name="worker", annotations=named))


def machine(of: Node, **annotations: str) -> MachineTarget:
    named = {f"paramedic.dev/{name}": text for name, text in annotations.items()}
    created = {"namespace": "machines", "uid": "m", "creationTimestamp": "2026-01-01T00:00:00Z"}
    body = {
        "metadata": {"name": "m", "annotations": named, **created},
        "status": {"nodeRef": {"name": "worker"}},
    }
    return MachineTarget(Machine.model_validate(body), of)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", HoldAnnotation("")),
        ("replacing its disk", HoldAnnotation("replacing its disk")),
        (" a\nb ", HoldAnnotation("a b")),
        ("4711", HoldAnnotation("4711")),
        ("[INC-4711] disk", HoldAnnotation("[INC-4711] disk")),
        ('{"reason": "disk"}', HoldAnnotation("disk")),
        (f'{{"until": "{UNTIL}"}}', HoldAnnotation("", IN_AN_HOUR)),
        (f'{{"reason": "disk", "until": "{UNTIL}"}}', HoldAnnotation("disk", IN_AN_HOUR)),
    ],
)
def test_value_is_a_reason_or_json(text: str, found: HoldAnnotation) -> None:
    assert hold_in(text) == found


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"reason": ', "it is no JSON: it ends too early at line 1"),
        ('{"until": "noon"}', "until: must be a time"),
        ('{"until": "2026-03-01T13:00:00"}', "until: must be a time with its zone"),
        ('{"reason": 5}', "reason: must be text"),
        ('{"for": "2h"}', "for: "),
        ('{"reason": "' + "x" * LONGEST_VALUE + '"}', "it is no JSON: "),
    ],
)
def test_value_that_cannot_be_read_holds_without_an_end_and_says_so(text: str, problem: str) -> None:
    held = hold_on_target(node(hold=text), DEFAULTS, NOW)
    assert held is not None
    stands = f"the annotation {HOLD} on it stands until it is removed, as its value cannot be read: "
    assert held.message.startswith(stands + problem)


@given(st.text(max_size=200))
def test_any_value_without_an_end_holds(text: str) -> None:
    assert hold_in(text).is_over(NOW) is False


def test_hold_says_where_the_annotation_is_why_and_until_when() -> None:
    text = f'{{"reason": "disk", "until": "{UNTIL}"}}'
    held = hold_on_target(node(hold=text), DEFAULTS, IN_AN_HOUR - MINUTE)
    assert held is not None
    assert held.reason is HoldReason.HOLD_ANNOTATION
    assert held.message == f"the annotation {HOLD} on it: disk, until {UNTIL}"
    assert held.ask_again_seconds == 60
    assert hold_on_target(node(hold=text), DEFAULTS, IN_AN_HOUR) is None


def test_node_holds_its_machine_and_a_hold_that_is_over_hides_no_other() -> None:
    over = f'{{"until": "{UNTIL}"}}'
    held = hold_on_target(machine(node(hold="disk"), hold=over), DEFAULTS, IN_AN_HOUR)
    assert held is not None
    assert held.message == f"the annotation {HOLD} on its Node worker: disk"
    assert hold_on_target(machine(node()), DEFAULTS, NOW) is None


def test_node_of_a_workload_cluster_gives_no_orders() -> None:
    target = ClusterApiTarget(
        ClusterApiMachine.model_validate(machine_object("m")), node(hold="", approve="x")
    )
    assert hold_on_target(target, DEFAULTS, NOW) is None
    assert answers_on(target, DEFAULTS) == ()


def test_check_holds_all_its_targets() -> None:
    body = check_object()
    body["metadata"]["annotations"] = {HOLD: f'{{"reason": "row 7", "until": "{UNTIL}"}}'}
    check = NodeHealthCheck.parse(body)
    held = hold_on_check(check, DEFAULTS, NOW)
    assert held is not None
    assert held.message == f"the annotation {HOLD} on the check: row 7, until {UNTIL}"
    assert hold_on_check(check, DEFAULTS, IN_AN_HOUR) is None


def test_policy_without_orders_by_annotation_obeys_none() -> None:
    refusing, target = Policy(orders_by_annotation=False), node(hold="a", approve="b")
    assert hold_on_target(target, refusing, NOW) is None
    assert answers_on(target, refusing) == ()


@pytest.mark.parametrize(
    ("text", "question", "reason"),
    [("1f0c93ab", "1f0c93ab", ""), (" 1f0c93ab  INC-7 disk\n", "1f0c93ab", "INC-7 disk"), ("", "", "")],
)
def test_answer_names_its_question_and_may_have_a_reason(text: str, question: str, reason: str) -> None:
    found = answer_in(text, is_approval=True, place="it")
    assert (found.question, found.reason) == (question, reason)


def test_rejection_comes_before_an_approval() -> None:
    target: Any = machine(node(approve="a"), approve="b", reject="c")
    found = [(answer.question, answer.is_approval, answer.place) for answer in answers_on(target, DEFAULTS)]
    assert found == [("c", False, "it"), ("b", True, "it"), ("a", True, "its Node worker")]
    assert {APPROVE, REJECT} == {"paramedic.dev/approve", "paramedic.dev/reject"}
