"""The slim copy of a Node."""

from typing import Any

import pytest
from pydantic import ValidationError

from health.model.node import EXCLUDE_LABEL, Node
from tests.support.values.builders import condition, node, node_object


@pytest.mark.rule("NHC 2.0/node heartbeat", "rule 6/heartbeat")
def test_heartbeat_changes_nothing_of_a_node() -> None:
    quiet = node_object(condition("Ready", "True"))
    beating = node_object(
        condition("Ready", "True")
        | {"lastHeartbeatTime": "2026-03-01T12:00:10Z", "reason": "KubeletReady", "message": "is ready"}
    )

    assert Node.model_validate(quiet) == Node.model_validate(beating)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(node_object(condition("Ready", "False")), id="status"),
        pytest.param(node_object(condition("Ready", "True", None)), id="transition time"),
        pytest.param(node_object(condition("DiskPressure", "True")), id="type"),
        pytest.param(node_object(condition("Ready", "True"), labels={"a": "b"}), id="labels"),
        pytest.param(node_object(condition("Ready", "True"), uid="another"), id="uid"),
        pytest.param(
            node_object(condition("Ready", "True"), annotations={"machine.openshift.io/machine": "a/b"}),
            id="the Machine under it",
        ),
    ],
)
def test_fields_of_verdicts_and_requests_distinguish_nodes(other: dict[str, Any]) -> None:
    assert Node.model_validate(other) != node(condition("Ready", "True"))


def test_annotations_of_others_are_not_kept() -> None:
    annotated = node(annotations={"example.com/load": "17", "machine.openshift.io/machine": "ns/m-1"})

    assert annotated == node(annotations={"machine.openshift.io/machine": "ns/m-1", "example.com/load": "18"})
    assert annotated.metadata.annotations.machine == "ns/m-1"


@pytest.mark.rule("NHC 1.7/exclude-from-remediation")
@pytest.mark.parametrize(
    ("labels", "is_excluded"),
    [
        pytest.param({EXCLUDE_LABEL: "true"}, True, id="true"),
        pytest.param({EXCLUDE_LABEL: ""}, False, id="empty"),
        pytest.param({EXCLUDE_LABEL: "True"}, False, id="with a capital"),
        pytest.param({EXCLUDE_LABEL: "false"}, False, id="false"),
        pytest.param({}, False, id="none"),
    ],
)
def test_only_true_excludes(labels: dict[str, str], is_excluded: bool) -> None:  # noqa: FBT001  a column of the table
    assert node(labels=labels).is_excluded is is_excluded


def test_node_without_status_has_no_conditions() -> None:
    raw = node_object()
    del raw["status"]

    assert Node.model_validate(raw).status.conditions == ()


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(condition("Ready", "False") | {"lastTransitionTime": "yesterday"}, id="no time"),
        pytest.param(
            condition("Ready", "False") | {"lastTransitionTime": "2026-03-01T12:00:00"},
            id="a time of no zone",
        ),
        pytest.param({"type": "Ready"}, id="no status"),
    ],
)
def test_node_that_cannot_be_judged_does_not_parse(bad: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        node(bad)
