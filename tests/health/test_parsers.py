"""Parsers accept or refuse any fields of an object, and every accepted object can be judged."""

import json
from contextlib import suppress
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
from tests.support.values import builders as objects
from tests.support.values import openshift
from tests.support.values.builders import EMPTY_CONTEXT, NOW, escalation, request_snapshot
from tests.support.values.extremes import mutated

pytestmark = pytest.mark.rule("rule 8/wire")

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


@given(mutated(NODE_CHECK))
def test_node_health_check(body: dict[str, Any]) -> None:
    record = read(CheckRecord, body)
    if record is not None:
        judged(NODE_HEALTH_CHECK, A_NODE, record)


@given(mutated(MACHINE_CHECK))
def test_machine_health_check(body: dict[str, Any]) -> None:
    record = read(CheckRecord, body)
    if record is not None:
        judged(MACHINE_HEALTH_CHECK, A_MACHINE, record)


@given(st.sampled_from([*CHECK_KINDS.values()]), mutated(NODE_CHECK) | mutated(MACHINE_CHECK))
def test_check_that_is_parsed_from_an_object_as_it_came(kind: CheckKind, body: dict[str, Any]) -> None:
    with suppress(InvalidCheckError):
        assert kind.parse(body)


@given(mutated({"status": STORED}))
def test_stored_status(body: dict[str, Any]) -> None:
    record = read(CheckRecord, NODE_CHECK | body)
    if record is None:
        return
    storm = stored_storm(record.status, NOW)
    storm_conditions(storm)
    storm_hold(storm, objects.check(stormCooldownDuration="1h").storm_cooldown, NOW)


@given(mutated(NODE))
def test_node(body: dict[str, Any]) -> None:
    node = read(Node, body)
    if node is not None:
        judged(NODE_HEALTH_CHECK, node, CheckRecord.model_validate(NODE_CHECK))
        judged(MACHINE_HEALTH_CHECK, MachineTarget(openshift.machine(), node), record_of_machines())
        assert node.is_excluded in (True, False)
        assert node.configuration_to_come is not None


@given(mutated(MACHINE), st.sampled_from([A_NODE, None]))
def test_machine(body: dict[str, Any], node: Node | None) -> None:
    machine = read(Machine, body)
    if machine is not None:
        judged(MACHINE_HEALTH_CHECK, MachineTarget(machine, node), record_of_machines())


def record_of_machines() -> CheckRecord:
    return CheckRecord.model_validate(MACHINE_CHECK)


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


@given(mutated({"status": REQUEST["status"]}))
def test_request_stays_in_sight_whatever_its_remediator_writes_into_its_status(body: dict[str, Any]) -> None:
    assert read(RemediationRequest, REQUEST | body) is not None


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


@given(mutated(BUDGET), mutated(GUARD))
def test_disruption_budget_and_guard_pod(budget: dict[str, Any], pod: dict[str, Any]) -> None:
    budgets, guards = read(DisruptionBudget, budget), read(GuardPod, pod)
    assert objection("node-1", [budgets] if budgets else [], [guards] if guards else []) is not None


@given(mutated(NODE_CHECK), mutated(NODE_CHECK), st.sampled_from(Operation))
def test_review_of_a_change(new: dict[str, Any], old: dict[str, Any], operation: Operation) -> None:
    assert all(isinstance(refusal, str) for refusal in refusals(CheckOperation(operation, new, old), Facts()))
