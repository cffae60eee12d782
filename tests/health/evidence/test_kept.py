"""Evidence keeps the fields of objects that explain a failure, and no field that may be a credential."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from health.evidence import (
    LEFT_OUT,
    is_well,
    kept_event,
    kept_node,
    kept_pod,
    kept_target,
    last_seen,
)

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
