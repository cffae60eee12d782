"""The annotations of Nodes and Machines: only an annotation of the full name has a meaning."""

import json
from typing import Any

import pytest
from pydantic import TypeAdapter

from health.kinds.clusterapi.machine import MachineAnnotations as ClusterApiAnnotations
from health.kinds.openshift.machine import MachineAnnotations as OpenShiftAnnotations
from health.model.node import NodeAnnotations
from health.model.order_annotations import TargetAnnotations

KINDS = (NodeAnnotations, OpenShiftAnnotations, ClusterApiAnnotations)


def read(kind: type[TargetAnnotations], **annotations: str) -> TargetAnnotations:
    return TypeAdapter(kind).validate_json(json.dumps(annotations))


@pytest.mark.parametrize("kind", KINDS)
def test_annotation_that_has_only_the_name_of_a_field_means_nothing(kind: type[Any]) -> None:
    names = dict.fromkeys(kind.__pydantic_fields__, "x")
    assert read(kind, **names) == kind()
    aliases = dict.fromkeys((field.alias for field in kind.__pydantic_fields__.values()), "x")
    assert {*vars_of(read(kind, **aliases)).values()}.isdisjoint({None, ""})


def vars_of(annotations: TargetAnnotations) -> dict[str, object]:
    return {name: getattr(annotations, name) for name in type(annotations).__pydantic_fields__}
