"""The annotations of Nodes and Machines: only an annotation of the full name has a meaning."""

import json
from typing import Any

import pytest
from pydantic import TypeAdapter

from health.kinds.clusterapi.machine import MachineAnnotations as ClusterApiAnnotations
from health.kinds.clusterapi.machine import MachineMetadata as ClusterApiMetadata
from health.kinds.openshift.machine import MachineAnnotations as OpenShiftAnnotations
from health.kinds.openshift.machine import MachineMetadata
from health.model.annotations import ON_TARGETS, PREFIX, TargetAnnotations
from health.model.node import NodeAnnotations, NodeMetadata
from objects.short_text import LONGEST_TEXT

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
