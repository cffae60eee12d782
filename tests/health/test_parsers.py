"""Parsers accept or refuse any fields, stop at the first bad item, and what they accept can be judged."""

import importlib
import json
import pkgutil
from collections.abc import Iterator
from contextlib import suppress
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from detector.state.check_state import CheckRecord
from health.check.check_snapshot import CheckSnapshot, TargetSnapshot
from health.check.storm import storm_hold
from health.check.template_validity import Template
from health.cluster.cluster_context import ClusterContext
from health.cluster.global_stop import LeaseNamespace, Stop
from health.cluster.upgrade import CLUSTER_VERSION, SignallingObject, upgrade, upgrade_hold
from health.gate.etcd_disruption import DisruptionBudget, GuardPod, objection
from health.kinds.check_kind import CheckKind
from health.kinds.nodehealthcheck.admission_review import CheckOperation, Facts, Operation, refusals
from health.kinds.nodehealthcheck.disabled import (
    OtherMachineHealthCheck as AnyMachineHealthCheck,
)
from health.kinds.nodehealthcheck.disabled import machine_health_checks
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.kinds.nodehealthcheck.status import stored_storm, storm_conditions
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from health.kinds.openshift.machine import Machine, MachineTarget
from health.kinds.registry import CHECK_KINDS
from health.model.invalid_check import InvalidCheckError
from health.model.node import Node
from health.model.observation import Observation
from health.model.remediation_request import (
    ATTEMPT,
    GREW_OLD,
    HEALTHY_DELAY,
    INCIDENT,
    NODE_NAME,
    TARGET_UID,
    TEMPLATE_NAME,
    TIMED_OUT,
    RemediationRequest,
)
from health.model.target import Target
from health.model.verdict import HEALTHY
from kube.decoding import Decoder, Undecodable
from objects.bounds import MOST_ITEMS, collections_in
from tests.support.values import builders as objects
from tests.support.values import openshift
from tests.support.values.builders import EMPTY_CONTEXT, NOW, escalation, request_snapshot
from tests.support.values.extremes import mutated

METADATA: dict[str, Any] = {
    "name": "one",
    "namespace": "remediators",
    "uid": "one-uid",
    "resourceVersion": "7",
    "generation": 3,
    "creationTimestamp": "2026-01-01T00:00:00Z",
    "deletionTimestamp": "2026-03-01T00:00:00Z",
    "labels": {"role": "worker"},
    "annotations": {"a": "b"},
    "ownerReferences": [objects.TEMPLATE | {"uid": "owner-uid", "controller": True}],
}
CONDITIONS = [
    {"type": "Ready", "status": "Unknown", "lastTransitionTime": "2026-03-01T11:00:00Z"},
    {"type": "Progressing", "status": "True", "lastTransitionTime": "2026-03-01T11:00:00Z"},
]
NODE = {"metadata": METADATA, "status": {"conditions": CONDITIONS}}
MACHINE = {
    "metadata": METADATA,
    "status": {"phase": "Running", "nodeRef": {"name": "one"}, "lastUpdated": "2026-03-01T11:00:00Z"},
}
REQUEST = {
    "metadata": METADATA
    | {
        "annotations": {
            NODE_NAME: "node-1",
            TEMPLATE_NAME: "reboot",
            TIMED_OUT: "2026-03-01T11:00:00Z",
            HEALTHY_DELAY: "2026-03-01T11:00:00Z",
            GREW_OLD: "flagon",
            INCIDENT: "remediation/main/MachineHealthCheck/remediators/workers/machine-1/11111111",
            TARGET_UID: "11111111-2222",
            ATTEMPT: "2",
        }
    },
    "status": {"conditions": [{"type": "Succeeded", "status": "False"}]},
}
STORED: dict[str, Any] = {
    "phase": "Enabled",
    "observedNodes": 3,
    "expectedMachines": 3,
    "remediationsAllowed": 1,
    "conditions": [
        {
            "type": type_,
            "status": "True",
            "reason": "R",
            "message": "m",
            "lastTransitionTime": NOW.isoformat(),
        }
        for type_ in ("Disabled", "StormActive", "StormCooldownActive", "RemediationAllowed", "Another")
    ],
    "unhealthyNodes": [
        {
            "name": "node-1",
            "conditionsHealthyTimestamp": "2026-03-01T11:00:00Z",
            "remediations": [{"resource": objects.TEMPLATE, "started": "2026-03-01T11:00:00Z"}],
        }
    ],
}
NODE_CHECK = objects.check_object(
    unhealthyConditions=[{"type": "Ready", "status": "Unknown", "duration": "5m"}],
    maxUnhealthy="40%",
    minHealthy=None,
    remediationTemplate=None,
    escalatingRemediations=[escalation(1), escalation(2, name="reset")],
    healthyDelay="-1s",
    stormCooldownDuration="10m",
    pauseRequests=["somebody"],
    selector={
        "matchLabels": {"role": "worker"},
        "matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}],
    },
) | {"status": STORED}
MACHINE_CHECK = openshift.check_object(
    {"machine.openshift.io/remediation-strategy": "external-baremetal"},
    selector={"matchLabels": {"role": "worker"}},
    unhealthyConditions=[openshift.NOT_READY],
    maxUnhealthy="40%",
    nodeStartupTimeout="10m",
    remediationTemplate=openshift.TEMPLATE,
) | {"status": STORED}
A_NODE = objects.node(objects.condition("Ready", "Unknown"), labels={"role": "worker", "zone": "a"})
A_MACHINE = MachineTarget(openshift.machine(labels={"role": "worker"}), A_NODE)
UPGRADED = ClusterContext(upgrade=upgrade(CLUSTER_VERSION, [SignallingObject.model_validate(NODE)]))


def read(model: type[BaseModel], body: dict[str, Any]) -> Any:
    """The object as a watch decodes it; None if the watch leaves it out. No other error is raised."""
    try:
        return model.model_validate_json(json.dumps(body))
    except ValidationError:
        return None


def judged(kind: CheckKind, target: Target, record: CheckRecord) -> None:
    """All that the detector asks a check of one target, and that status and Events are made from."""
    parsed = record.parse(kind)
    assert kind.stored_requests(record.status) is not None
    check = parsed.check
    if check is None:
        assert str(parsed.problem)
        told(kind, record, CheckSnapshot(parsed=parsed, uid="uid", allowance=None))
        return
    check.selects(target)
    verdicts = [check.verdict(target, NOW, context) for context in (EMPTY_CONTEXT, UPGRADED)]
    assert check.is_unhealthy(target, EMPTY_CONTEXT) == (verdicts[0] != HEALTHY)
    check.counts_as_healthy(target, EMPTY_CONTEXT)
    check.under_way(target)
    check.problem(EMPTY_CONTEXT, lambda *_: None)
    assert check.steps_for(target) is not None
    allowance = check.allowance(total=10, healthy=3)
    assert allowance.words
    snapshot = TargetSnapshot(
        name="node-1", uid="uid", verdict=verdicts[0], requests=(request_snapshot(healthy_since=NOW),)
    )
    told(
        kind,
        record,
        CheckSnapshot(parsed=parsed, uid="uid", allowance=allowance, targets={"node-1": snapshot}),
    )


def told(kind: CheckKind, record: CheckRecord, snapshot: CheckSnapshot) -> None:
    assert isinstance(kind.status_patch(snapshot, record.status, NOW), dict)
    assert isinstance(kind.events(None, snapshot, record.status, NOW), list)
    assert isinstance(kind.events(snapshot, snapshot, record.status, NOW), list)


@pytest.mark.rule("rule 8/wire")
@given(mutated(NODE_CHECK))
def test_node_health_check(body: dict[str, Any]) -> None:
    record = read(CheckRecord, body)
    if record is not None:
        judged(NODE_HEALTH_CHECK, A_NODE, record)


@pytest.mark.rule("rule 8/wire")
@given(mutated(MACHINE_CHECK))
def test_machine_health_check(body: dict[str, Any]) -> None:
    record = read(CheckRecord, body)
    if record is not None:
        judged(MACHINE_HEALTH_CHECK, A_MACHINE, record)


@pytest.mark.rule("rule 8/wire")
@given(st.sampled_from([*CHECK_KINDS.values()]), mutated(NODE_CHECK) | mutated(MACHINE_CHECK))
def test_check_that_is_parsed_from_an_object_as_it_came(kind: CheckKind, body: dict[str, Any]) -> None:
    with suppress(InvalidCheckError):
        assert kind.parse(body)


@pytest.mark.rule("rule 8/wire")
@given(mutated({"status": STORED}))
def test_stored_status(body: dict[str, Any]) -> None:
    record = read(CheckRecord, NODE_CHECK | body)
    if record is None:
        return
    storm = stored_storm(record.status, NOW)
    storm_conditions(storm)
    storm_hold(storm, objects.check(stormCooldownDuration="1h").storm_cooldown, NOW)


@pytest.mark.rule("rule 8/wire")
@given(mutated(NODE))
def test_node(body: dict[str, Any]) -> None:
    node = read(Node, body)
    if node is not None:
        judged(NODE_HEALTH_CHECK, node, CheckRecord.model_validate(NODE_CHECK))
        judged(MACHINE_HEALTH_CHECK, MachineTarget(openshift.machine(), node), record_of_machines())
        assert node.is_excluded in (True, False)
        assert node.configuration_to_come is not None


@pytest.mark.rule("rule 8/wire")
@given(mutated(MACHINE), st.sampled_from([A_NODE, None]))
def test_machine(body: dict[str, Any], node: Node | None) -> None:
    machine = read(Machine, body)
    if machine is not None:
        judged(MACHINE_HEALTH_CHECK, MachineTarget(machine, node), record_of_machines())


def record_of_machines() -> CheckRecord:
    return CheckRecord.model_validate(MACHINE_CHECK)


@pytest.mark.rule("rule 8/wire")
@given(mutated(REQUEST))
def test_remediation_request(body: dict[str, Any]) -> None:
    request = read(RemediationRequest, body)
    if request is None:
        return
    assert request.snapshot("example.com/v1", "Reboot")
    assert request.target_name
    for kind in CHECK_KINDS.values():
        kind.owner_of(request)
        kind.is_unsigned_for(request, objects.INCIDENT.target)


@pytest.mark.rule("rule 8/wire")
@given(mutated({"status": REQUEST["status"]}))
def test_request_stays_in_sight_whatever_its_remediator_writes_into_its_status(body: dict[str, Any]) -> None:
    assert read(RemediationRequest, REQUEST | body) is not None


@pytest.mark.rule("rule 8/wire")
@given(mutated(NODE | {"spec": {"template": {"spec": {}}}}))
def test_template_upgrade_signal_namespace_and_other_checks(body: dict[str, Any]) -> None:
    template, signalling = read(Template, body), read(SignallingObject, body)
    namespace, check = read(LeaseNamespace, body), read(AnyMachineHealthCheck, body)
    if template is not None:
        assert template.supports_multiple in (True, False)
    if signalling is not None:
        upgrade_hold(upgrade(CLUSTER_VERSION, [signalling, signalling]))
    if namespace is not None:
        Stop.of(namespace.metadata.annotations)
    assert machine_health_checks([check] if check else [], unreadable=0 if check else 1)


BUDGET = {
    "spec": {"selector": {"matchLabels": {"app": "guard"}}},
    "status": {"disruptionsAllowed": 0},
}
GUARD = {
    "metadata": {"labels": {"app": "guard"}},
    "spec": {"nodeName": "node-1"},
    "status": {"conditions": [{"type": "Ready", "status": "True"}]},
}


@pytest.mark.rule("rule 8/wire")
@given(mutated(BUDGET), mutated(GUARD))
def test_disruption_budget_and_guard_pod(budget: dict[str, Any], pod: dict[str, Any]) -> None:
    budgets, guards = read(DisruptionBudget, budget), read(GuardPod, pod)
    assert objection("node-1", [budgets] if budgets else [], [guards] if guards else []) is not None


@pytest.mark.rule("rule 8/wire")
@given(mutated(NODE_CHECK), mutated(NODE_CHECK), st.sampled_from(Operation))
def test_review_of_a_change(new: dict[str, Any], old: dict[str, Any], operation: Operation) -> None:
    assert all(isinstance(refusal, str) for refusal in refusals(CheckOperation(operation, new, old), Facts()))


ROOMS = ("activities", "cli", "detector", "health", "kube", "objects", "runtime", "worker", "workflows")
BAD = 10_000


def _models() -> Iterator[type[Any]]:
    """Every pydantic model and dataclass of the product."""
    for room in ROOMS:
        for module in pkgutil.walk_packages(importlib.import_module(room).__path__, f"{room}."):
            if not module.name.endswith("__main__"):
                yield from _models_of(importlib.import_module(module.name))


def _models_of(module: ModuleType) -> Iterator[type[Any]]:
    for var in vars(module).values():
        is_ours = isinstance(var, type) and var.__module__ == module.__name__
        if is_ours and "__pydantic_core_schema__" in var.__dict__:
            yield var


def test_collections_of_every_model_fail_fast() -> None:
    models = set(_models())
    slow = {
        model.__qualname__
        for model in models
        for collection in collections_in(model.__pydantic_core_schema__)
        if not collection.get("fail_fast") or collection["max_length"] > MOST_ITEMS
    }

    assert slow == set()
    assert {Node, Observation} <= models


@pytest.mark.parametrize("bad", [1, {}, []])
@pytest.mark.parametrize("field", ["conditions", "labels"])
def test_one_error_is_kept_for_ten_thousand_bad_items_of_a_node(field: str, bad: object) -> None:
    items: object = {f"k{n}": bad for n in range(BAD)} if field == "labels" else [bad] * BAD
    metadata = {"name": "a", "uid": "u", "resourceVersion": "7", "creationTimestamp": "2026-01-01T00:00:00Z"}
    labels = {"labels": items} if field == "labels" else {}
    status = {} if field == "labels" else {"conditions": items}
    node = json.dumps({"metadata": metadata | labels, "status": status})

    with pytest.raises(ValidationError) as refused:
        Node.model_validate_json(node)
    assert refused.value.error_count() <= 2
    with pytest.raises(ValidationError) as refused:
        Node.model_validate(json.loads(node))
    assert refused.value.error_count() <= 2
    found = Decoder(Node).object(node.encode())
    assert isinstance(found, Undecodable)
    assert len(found.error) < 200


def test_one_error_is_kept_for_ten_thousand_bad_parts_of_a_message() -> None:
    with pytest.raises(ValidationError) as refused:
        Observation.model_validate({"state": "Expired", "reason": "x", "requests": [1] * BAD})
    assert refused.value.error_count() <= 1
