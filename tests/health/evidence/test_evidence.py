"""Evidence: when an incident saves it, its name, and the fields that it keeps."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.evidence import (
    LEFT_OUT,
    MOST_AT_ONCE,
    Retention,
    StoredEvidence,
    is_well,
    kept_event,
    kept_node,
    kept_pod,
    kept_target,
    last_seen,
)
from health.model.evidence import PREFIX, EvidenceRecord, EvidenceStore, evidence_name
from health.model.invalid_check import InvalidCheckError
from health.model.moves import (
    EVIDENCE_IS_SAVED,
    Phase,
    RecordStep,
    SaveEvidence,
    TakeStep,
)
from health.model.observation import Hold, Observation
from health.policy.check_choices import CheckChoices
from health.runbook.decide import next_move
from health.runbook.state import Memory
from tests.support.values.builders import ADMITTED, ESCALATION, HOLD, INCIDENT, NOW, seen

ANNOTATION = "paramedic.dev/evidence"
NOT_SAVED = EvidenceRecord(name="x", at=NOW, problem="no space left on device")
DAY = timedelta(days=1)


def wanted(hold: Hold | None = None) -> Observation:
    return seen(steps=ESCALATION, hold=hold).model_copy(update={"evidence": EvidenceStore.CONFIG_MAP})


@pytest.mark.parametrize("is_shadow", [False, True])
def test_evidence_is_saved_before_the_first_step_and_then_the_step_is_taken(is_shadow: bool) -> None:  # noqa: FBT001  a parameter
    memory = Memory(is_shadow=is_shadow)
    move = next_move(wanted(), memory, NOW)
    assert isinstance(move, SaveEvidence)
    assert (move.before.step, move.phase, move.next_transition) == (
        0,
        Phase.ACTING,
        EVIDENCE_IS_SAVED,
    )

    # Whether it was saved or not: a step waits for it once.
    step = RecordStep(0, move.details) if is_shadow else TakeStep(0, ADMITTED, move.details)
    assert move.before == step
    assert next_move(wanted(), replace(memory, evidence=NOT_SAVED), NOW) == step


def test_no_evidence_is_saved_if_it_is_not_wanted_or_no_step_follows() -> None:
    assert isinstance(next_move(seen(steps=ESCALATION), Memory(), NOW), TakeStep)
    assert not isinstance(next_move(wanted(hold=HOLD), Memory(), NOW), SaveEvidence)


@pytest.mark.parametrize("value", [*EvidenceStore])
def test_check_chooses_where_evidence_is_saved(value: EvidenceStore) -> None:
    assert CheckChoices.of({ANNOTATION: value.value}).evidence is value
    assert CheckChoices.of({}).evidence is None


@pytest.mark.parametrize("value", ["/etc", "file", "", "configmap"])
def test_other_value_is_refused(value: str) -> None:
    with pytest.raises(InvalidCheckError) as refused:
        CheckChoices.of({ANNOTATION: value})
    problem = "must be 'ConfigMap'"
    assert str(refused.value) == f"metadata.annotations[{ANNOTATION}]: {problem} (found {value!r})"


@given(st.text(), st.text(min_size=1))
def test_name_is_one_that_kubernetes_and_file_systems_take(target: str, run: str) -> None:
    named = INCIDENT.target.model_copy(update={"name": target})
    name = evidence_name(INCIDENT.model_copy(update={"target": named}), run)
    assert name.startswith(PREFIX)
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
    assert name[-1] != "-"
    assert len(name) < 200


def test_each_incident_has_a_name_of_its_own_and_keeps_it() -> None:
    other = INCIDENT.model_copy(update={"cluster": "other"})
    names = {
        evidence_name(INCIDENT, "run-1"),
        evidence_name(INCIDENT, "run-2"),
        evidence_name(other, "run-1"),
    }
    assert len(names) == 3
    assert evidence_name(INCIDENT, "run-1") in names


def test_record_says_where_it_is_and_what_it_lacks_or_why_there_is_none() -> None:
    record = EvidenceRecord(namespace="ns", name="x", at=NOW)
    assert str(record) == "evidence: ConfigMap ns/x"
    lacking = record.model_copy(update={"lacks": ("37 of 110 pods", "no node: it is gone")})
    assert str(lacking) == "evidence: ConfigMap ns/x (37 of 110 pods; no node: it is gone)"
    assert str(NOT_SAVED) == "evidence: not saved: no space left on device"


def test_old_or_excess_evidence_is_deleted_oldest_first_and_not_all_at_once() -> None:
    kept = [StoredEvidence(str(age), NOW - age * DAY) for age in range(40)]
    assert Retention(100, 30 * DAY).over(kept, NOW) == [str(age) for age in range(39, 30, -1)]
    assert Retention(35, 365 * DAY).over(kept, NOW) == ["39", "38", "37", "36", "35"]
    assert len(Retention(1, DAY).over(kept, NOW)) == MOST_AT_ONCE
    assert Retention(100, 365 * DAY).over(kept, NOW) == []
    of_one_second = [StoredEvidence(name, NOW) for name in "abc"]
    assert Retention(1, DAY).over(of_one_second, NOW, "a") == ["b", "c"]


SECRET = "s3cr3t"
METADATA: dict[str, Any] = {
    "name": "one",
    "namespace": "ns",
    "uid": "u-1",
    "labels": {"pool": "a"},
    "annotations": {"k3s.io/node-args": SECRET},
    "managedFields": [{"manager": SECRET}],
    "ownerReferences": [{"kind": "DaemonSet", "name": "proxy", "controller": True}],
}
POD: dict[str, Any] = {
    "metadata": METADATA,
    "spec": {
        "nodeName": "node-1",
        "priorityClassName": "high",
        "containers": [{"name": "c", "env": [{"name": "PASSWORD", "value": SECRET}], "args": [SECRET]}],
    },
    "status": {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "False", "reason": "ContainersNotReady"}],
        "containerStatuses": [
            {
                "name": "c",
                "restartCount": 7,
                "state": {"waiting": {"reason": "CrashLoopBackOff", "message": SECRET}},
                "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled", "message": SECRET}},
            }
        ],
    },
}


def test_of_a_pod_is_kept_how_it_is_and_none_of_its_spec() -> None:
    assert kept_pod(POD) == {
        "pod": "ns/one",
        "uid": "u-1",
        "owner": "DaemonSet/proxy",
        "priorityClass": "high",
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "False", "reason": "ContainersNotReady"}],
        "containers": [
            {
                "name": "c",
                "restartCount": 7,
                "state": {"waiting": {"reason": "CrashLoopBackOff"}},
                "lastState": {"terminated": {"reason": "OOMKilled", "exitCode": 137}},
            }
        ],
    }


def test_of_annotations_only_the_names_are_kept_and_of_managed_fields_nothing() -> None:
    for kept in (kept_node({"metadata": METADATA}), kept_target({"metadata": METADATA})):
        assert SECRET not in str(kept)
        assert kept["metadata"]["namesOfAnnotations"] == ["k3s.io/node-args"]
        assert kept["metadata"]["labels"] == {"pool": "a"}


def test_of_a_node_its_conditions_taints_and_capacity_are_kept_and_its_images_are_not() -> None:
    conditions = [{"type": "Ready", "status": "Unknown"}]
    status = {"conditions": conditions, "capacity": {"pods": "110"}, "images": [{"names": ["a"]}]}
    spec = {"taints": [{"key": "a", "effect": "NoSchedule"}], "providerID": "x://1"}
    kept = kept_node({"metadata": METADATA, "spec": spec, "status": status})
    assert kept["spec"] == spec
    assert kept["status"] == {"conditions": conditions, "capacity": {"pods": "110"}}


def test_configuration_by_others_in_the_spec_of_a_target_is_left_out() -> None:
    reference = {"kind": "AWSMachine", "name": "m"}
    spec = {
        "providerID": "x://1",
        "infrastructureRef": reference,
        "providerSpec": {"value": {"userData": SECRET}},
        "bootstrap": {"data": SECRET * 100},
    }
    kept = kept_target(
        {"kind": "Machine", "metadata": METADATA, "spec": spec, "status": {"phase": "Running"}}
    )
    assert kept["spec"] == {
        "providerID": "x://1",
        "infrastructureRef": reference,
        "providerSpec": LEFT_OUT,
        "bootstrap": LEFT_OUT,
    }
    assert kept["status"] == {"phase": "Running"}


def test_provider_fields_in_the_status_of_a_target_are_left_out() -> None:
    status = {"phase": "Running", "providerStatus": {"whatever": {"password": SECRET}}}
    kept = kept_target({"kind": "Machine", "metadata": METADATA, "status": status})
    assert kept["status"] == {"phase": "Running", "providerStatus": LEFT_OUT}


def test_event_is_one_line_with_the_time_it_was_seen_last() -> None:
    event = {
        "metadata": METADATA | {"creationTimestamp": "2026-01-01T00:00:00Z"},
        "involvedObject": {"kind": "Node", "name": "node-1"},
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "lastTimestamp": "2026-01-01T00:10:00Z",
        "count": 4,
        "type": "Warning",
        "reason": "NodeNotReady",
        "message": "it is not",
        "source": {"component": "kubelet"},
    }
    assert kept_event(event) == {
        "last": "2026-01-01T00:10:00Z",
        "first": "2026-01-01T00:00:00Z",
        "times": 4,
        "type": "Warning",
        "reason": "NodeNotReady",
        "message": "it is not",
        "about": "Node/node-1",
        "from": "kubelet",
    }
    series = {"lastObservedTime": "2026-01-02T00:00:00.000000Z"}
    assert last_seen(event | {"series": series}) > last_seen(event)
    assert last_seen({"eventTime": "2026-01-01T00:00:00Z", "lastTimestamp": None})
    assert not last_seen({})


def test_pod_is_well_that_runs_and_is_ready_or_is_done() -> None:
    ready: dict[str, Any] = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    assert is_well({"status": ready})
    assert is_well({"status": {"phase": "Succeeded"}})
    assert not is_well(POD)
    assert not is_well({"status": ready, "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})
    assert not is_well({"status": {"phase": "Pending"}})


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(sorted({*POD, *POD["status"]})), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["metadata", "spec", "status", "source", "involvedObject"]), anything))
def test_object_of_whatever_form_is_kept_as_far_as_it_is_known(found: dict[str, Any]) -> None:
    for keep in (kept_node, kept_target, kept_event, kept_pod, is_well, last_seen):
        keep(found)
