"""An annotation that should order something, and does not, has one Event."""

import asyncio
import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from detector.reporting.refused_annotations import MOST_AT_ONCE, RefusedAnnotations
from detector.state.cluster_state import ClusterState
from health.model.approval import Approval, Progress
from health.model.node import Node
from health.model.references import CheckReference, Step, TemplateReference
from health.model.remediation_order import LONGEST_VALUE, REMEDIATE, problem_in
from health.model.target import node_name
from health.policy.policy import Policy
from health.policy.policy_in_force import PolicyInForce
from objects.event import Event
from tests.support.state.small_cluster import CHECK, SmallCluster
from tests.support.state.small_cluster_api import SmallClusterApi, machine_object
from tests.support.state.small_machines import SmallMachines
from tests.support.values.builders import NOW, node_object
from tests.support.values.openshift import NAMESPACE
from tests.support.values.remediation_orders import annotated

NODE = "node-1"
MISSPELT = {"paramedic.dev/hlod": "alice"}
A_TIME = "must be a time with its zone, such as 2026-01-31T12:00:00Z"
CUT = f"{'x' * 99}…"


def events_in(state: ClusterState) -> list[Event]:
    """The Events that a new leader emits in its first look at this state."""
    emitted: list[Event] = []

    def emit(_: CheckReference, events: Iterable[Event]) -> bool:
        emitted.extend(events)
        return True

    asyncio.run(RefusedAnnotations(state, emit, lambda: NOW).look())
    return emitted


def written(**fields: object) -> str:
    """The value of the annotation, with other values of these fields."""
    return json.dumps(json.loads(annotated()[REMEDIATE]) | fields)


class Leader:
    """A leading detector with one check; the queue of Events accepts while `takes` is set."""

    def __init__(self, **annotations: str) -> None:
        self.cluster = SmallCluster()
        self.cluster.check(annotations={f"paramedic.dev/{name}": text for name, text in annotations.items()})
        self.takes = True
        self.told: list[Event] = []
        self.orders = RefusedAnnotations(self.cluster.cluster_state, self.emit, lambda: NOW)

    def emit(self, check: CheckReference, events: Iterable[Event]) -> bool:
        assert check == CHECK
        self.told += events if self.takes else ()
        return self.takes

    def look(self) -> list[Event]:
        self.told.clear()
        asyncio.run(self.orders.look())
        return [*self.told]


def test_event_names_the_node_the_annotation_the_value_and_the_problem() -> None:
    leader = Leader()
    leader.cluster.node(NODE, annotations={REMEDIATE: "please"})
    (event,) = leader.look()
    assert event.subject is not None
    assert (event.subject.kind, event.subject.name, event.reason) == ("Node", NODE, "OrderRefused")
    assert event.message.startswith(f"metadata.annotations[{REMEDIATE}]: cannot be read: it is no JSON")
    assert event.message.endswith("; write it by `paramedic remediate` (found 'please')")


def test_event_is_emitted_once_for_each_value_and_by_the_next_leader_with_the_same_seed() -> None:
    leader = Leader()
    leader.takes = False
    leader.cluster.node(NODE, annotations={REMEDIATE: "please"})
    assert leader.look() == []
    leader.takes = True
    (first,) = leader.look()
    leader.cluster.node(NODE, annotations={REMEDIATE: "please", "other": "changed"})
    assert leader.look() == []
    leader.cluster.node(NODE, annotations={REMEDIATE: "now"})
    (second,) = leader.look()
    leader.cluster.node(NODE)
    assert leader.look() == []
    leader.cluster.node(NODE, annotations={REMEDIATE: "now"})
    leader.orders = RefusedAnnotations(leader.cluster.cluster_state, leader.emit, lambda: NOW)
    (again,) = leader.look()
    assert first.seed != second.seed == again.seed


def test_order_that_can_be_read_has_no_event() -> None:
    leader = Leader()
    leader.cluster.node(NODE, annotations=annotated())
    assert leader.look() == []


def test_check_in_shadow_writes_no_event() -> None:
    leader = Leader(shadow="true", remediate="please")
    leader.cluster.node(NODE, annotations={REMEDIATE: "please"})
    assert leader.look() == []


def test_annotation_on_a_check_leaves_it_valid_and_has_an_event_on_the_check() -> None:
    leader = Leader(remediate="please")
    leader.cluster.unhealthy(NODE)
    assert leader.cluster.observe(NODE).is_unhealthy
    (event,) = leader.look()
    assert event.subject is None
    assert event.message == (
        f"metadata.annotations[{REMEDIATE}]: orders nothing: it belongs on a Node or Machine (found 'please')"
    )
    assert leader.look() == []


def test_confirmation_in_the_future_has_one_event_that_names_the_check_and_the_value() -> None:
    written = {"confirmed-node-loss": "2999-01-31T12:00:00Z"}
    leader = Leader(**written)
    state = leader.cluster.cluster_state
    refused = {CHECK: datetime(2999, 1, 31, 12, tzinfo=UTC)}
    state.take_context(replace(state.cluster_context, refused_confirmations=refused))
    (event,) = leader.look()
    assert (event.subject, event.reason) == (None, "OrderRefused")
    assert event.message == (
        "metadata.annotations[paramedic.dev/confirmed-node-loss]: confirms nothing for "
        "NodeHealthCheck/workers: the time is in the future (found '2999-01-31T12:00:00Z'); "
        "write the time that the hold names"
    )
    assert leader.look() == []

    accepted = Leader(**{"confirmed-node-loss": "2026-01-31T12:00:00Z"})
    context = replace(accepted.cluster.cluster_state.cluster_context, refused_confirmations=refused)
    accepted.cluster.cluster_state.take_context(context)
    assert accepted.look() == [], "the annotation was corrected after the last look at the cluster"


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("hlod", "there is no such annotation of a Node or Machine; did you mean paramedic.dev/hold?"),
        ("quiet", "there is no such annotation of a Node or Machine; see docs/annotations.md"),
        ("shadow", "it belongs on a check"),
    ],
)
def test_annotation_that_does_not_exist_has_one_event_on_the_node(name: str, problem: str) -> None:
    leader = Leader()
    leader.cluster.node(NODE, annotations={f"paramedic.dev/{name}": "alice", "example.com/hlod": "bob"})
    (event,) = leader.look()
    assert event.subject is not None
    assert (event.subject.kind, event.subject.name, event.reason) == ("Node", NODE, "OrderRefused")
    assert event.message == f"metadata.annotations[paramedic.dev/{name}]: has no effect: {problem}"
    assert leader.look() == []


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("hold", '{"for": "2h"}', "stands until it is removed, as its value cannot be read: for: "),
        ("hold", '{"until": "2026-01-31T12:00:00Z"}', "holds nothing any more: it ended at 2026-01-31T12:00"),
        (
            "hold",
            '{"until": 7200}',
            "stands until it is removed, as its value cannot be read: until: must be",
        ),
    ],
)
def test_order_that_does_nothing_has_one_event_on_the_node(name: str, text: str, problem: str) -> None:
    leader = Leader()
    leader.cluster.node(NODE, annotations={f"paramedic.dev/{name}": text})
    (event,) = leader.look()
    assert event.message.startswith(f"metadata.annotations[paramedic.dev/{name}]: {problem}")
    assert leader.look() == []


@pytest.mark.parametrize("name", ["hold", "approve"])
def test_order_that_the_policy_turns_off_has_one_event(name: str) -> None:
    leader = Leader()
    state = leader.cluster.cluster_state
    refusing = PolicyInForce(policy=Policy(orders_by_annotation=False))
    state.take_context(replace(state.cluster_context, policy=refusing))
    leader.cluster.node(NODE, annotations={f"paramedic.dev/{name}": "x"})
    (event,) = leader.look()
    assert event.message.endswith("the policy turns orders by annotation off (ordersByAnnotation)")


def test_hold_that_can_be_read_has_no_event_on_node_or_check() -> None:
    leader = Leader(hold="power work")
    leader.cluster.node(NODE, annotations={"paramedic.dev/hold": ""})
    assert leader.look() == []


def test_hold_on_a_check_that_cannot_be_read_and_an_approval_on_it_have_an_event_each() -> None:
    messages = [event.message for event in Leader(hold="{", approve="1f0c93ab").look()]
    assert "[paramedic.dev/approve]: orders nothing: it belongs on a Node or Machine" in messages[0]
    assert "[paramedic.dev/hold]: stands until it is removed" in messages[1]


@pytest.mark.parametrize("name", ["approve", "reject"])
def test_answer_has_an_event_while_another_question_is_open(name: str) -> None:
    leader = Leader()
    leader.cluster.node(NODE, ready="Unknown", annotations={f"paramedic.dev/{name}": "1f0c93ab"})
    state, incident = leader.cluster.cluster_state, leader.cluster.incident(NODE)
    assert leader.look() == [], "a new leader does not know the question"
    state.found(incident, None)
    state.reported(incident, asking("another"))
    (event,) = leader.look()
    assert event.message.endswith("answers no open question (found '1f0c93ab'); open is another")
    assert leader.look() == []


@pytest.mark.parametrize("text", ["1f0c93ab", "1F0C93AB\nINC-7", " 1f0c93ab\tdisk"])
def test_answer_to_the_open_question_has_no_event_also_when_it_is_left_over(text: str) -> None:
    leader = Leader()
    leader.cluster.node(NODE, ready="Unknown", annotations={"paramedic.dev/approve": text})
    state, incident = leader.cluster.cluster_state, leader.cluster.incident(NODE)
    state.found(incident, None)
    state.reported(incident, asking("1f0c93ab"))
    assert leader.look() == []
    state.reported(incident, Progress())
    assert leader.look() == []
    leader.cluster.node(NODE, annotations={"paramedic.dev/approve": text})
    assert leader.look() == []


def asking(question: str) -> Progress:
    step = Step(template=TemplateReference(api_version="v1", kind="T", name="t"))
    return Progress(approval=Approval(id=question, step=step, names=("T/t",), asked_at=NOW))


@pytest.mark.parametrize(
    ("annotated_kind", "place"), [("Machine", ("Machine", NAMESPACE)), ("Node", ("Node", ""))]
)
def test_annotation_that_does_not_exist_has_an_event_on_the_machine_or_its_node(
    annotated_kind: str, place: tuple[str, str]
) -> None:
    cluster = SmallMachines()
    cluster.check()
    cluster.node("worker", annotations=MISSPELT if annotated_kind == "Node" else {})
    cluster.node("of-no-machine", annotations=MISSPELT)
    cluster.machine("master", node="worker", annotations=MISSPELT if annotated_kind == "Machine" else {})
    (event,) = events_in(cluster.cluster_state)
    assert event.subject is not None
    assert (event.subject.kind, event.subject.namespace) == place
    assert event.subject.name == {"Machine": "master", "Node": "worker"}[annotated_kind]
    assert event.message.endswith("did you mean paramedic.dev/hold?")


def test_node_of_the_management_cluster_is_not_taken_for_one_of_a_workload_cluster() -> None:
    cluster = SmallClusterApi()
    cluster.check()
    cluster.machine(machine_object("worker"))
    here = Node.model_validate(node_object(name="worker", annotations=MISSPELT))
    cluster.cluster_state.target_changed(node_name("worker"), here)
    assert events_in(cluster.cluster_state) == []


def test_events_about_many_nodes_are_emitted_in_parts_each_once() -> None:
    leader = Leader()
    for number in range(MOST_AT_ONCE + 1):
        leader.cluster.node(f"node-{number}", annotations={"paramedic.dev/team": "storage"})
    assert [len(leader.look()) for _ in range(3)] == [MOST_AT_ONCE, 1, 0]


def test_unreadable_order_and_unknown_annotation_of_a_node_have_an_event_each() -> None:
    leader = Leader()
    leader.cluster.node(NODE, annotations={REMEDIATE: "please", "paramedic.dev/hlod": "alice"})
    assert len({event.seed for event in leader.look()}) == 2


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", ""),
        (annotated()[REMEDIATE], ""),
        ('{"check": "NodeHealthCheck/a"}', "cannot be read: reason: is missing; write"),
        ('{"check": 5}', "cannot be read: check: must be text (found 5); write"),
        (written(reason=""), "cannot be read: reason: must not be empty (found ''); write"),
        (written(given="noon"), f"cannot be read: given: {A_TIME} (found 'noon'); write"),
        (
            written(given="2026-01-01T00:00:00"),
            "cannot be read: given: has no time zone (found '2026-",
        ),
        (written(until=None), f"cannot be read: until: {A_TIME} (found null); write"),
        (written(is_forced="x" * 900), f"cannot be read: is_forced: must be true or false (found '{CUT}')"),
        (written(until="2020-01-01T00:00:00Z"), "cannot be read: until must be after given, by at most 24"),
        ("[]", "cannot be read: must be a mapping; write"),
        ('{"check": ', "cannot be read: it is no JSON: it ends too early at line 1, column 10"),
        (annotated()[REMEDIATE] + " " * LONGEST_VALUE, "cannot be read: it has more than 8192 characters"),
    ],
)
def test_problem_of_a_value_names_the_field(text: str, problem: str) -> None:
    assert problem_in(text).startswith(problem)
    assert bool(problem_in(text)) is bool(problem)


def test_value_that_is_too_long_is_kept_as_its_beginning_which_is_no_order() -> None:
    leader = Leader()
    leader.cluster.node(NODE, annotations={REMEDIATE: "{}" + " " * LONGEST_VALUE})
    (event,) = leader.look()
    assert "it has more than 8192 characters (found '{}" in event.message
    assert len(event.message) < 300
