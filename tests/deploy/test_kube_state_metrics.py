"""The fields that kube-state-metrics reads of our objects exist in their schemas."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from runtime.paramedic_status import Answer, ConditionType
from tests.support.alert_rules import OF_KUBE_STATE_METRICS, rules

DEPLOY = Path(__file__).parents[2] / "deploy"
EXAMPLE = DEPLOY / "examples" / "kube-state-metrics.yaml"
RESOURCES = yaml.load(EXAMPLE.read_text(), yaml.CSafeLoader)["spec"]["resources"]
METADATA = {"name": {"type": "string"}, "namespace": {"type": "string"}}
STATES_OF_A_PHASE = {"Enabled", "Disabled", "Paused", "Remediating"}


@cache
def schema_of(kind: str, version: str) -> dict[str, Any]:
    for file in (DEPLOY / "base" / "crds").iterdir():
        spec = yaml.load(file.read_text(), yaml.CSafeLoader)["spec"]
        if spec["names"]["kind"] == kind:
            served = {each["name"]: each for each in spec["versions"] if each["served"]}
            schema: dict[str, Any] = served[version]["schema"]["openAPIV3Schema"]
            schema["properties"]["metadata"] = {"properties": METADATA}
            return schema
    raise AssertionError(f"there is no CRD of {kind}")


def at(schema: dict[str, Any], path: list[str]) -> dict[str, Any]:
    """The schema at a path; for a list, the schema of its items."""
    for name in path:
        schema = schema["properties"][name]
    items: dict[str, Any] = schema.get("items", schema)
    return items


def metrics() -> Iterator[Any]:
    for resource in RESOURCES:
        for metric in resource["metrics"]:
            series = f"{resource['metricNamePrefix']}_{metric['name']}"
            yield pytest.param(resource, metric["each"], id=series)


@pytest.mark.parametrize(("resource", "each"), [*metrics()])
def test_each_path_of_a_series_is_in_the_schema_of_its_kind(
    resource: dict[str, Any], each: dict[str, Any]
) -> None:
    kind = resource["groupVersionKind"]
    schema = schema_of(kind["kind"], kind["version"])
    rule = each.get("stateSet") or each["gauge"]
    found = at(schema, rule["path"])
    for path in (
        *rule.get("labelsFromPath", {}).values(),
        *([rule["valueFrom"]] if "valueFrom" in rule else []),
    ):
        assert at(found, path)["type"] == "string"
    for path in resource["labelsFromPath"].values():
        assert at(schema, path)["type"] == "string"
    if each["type"] == "Gauge":
        assert found["format"] == "date-time"


def test_alerts_ask_for_series_and_words_that_there_are() -> None:
    series = {
        f"{resource['metricNamePrefix']}_{metric['name']}"
        for resource in RESOURCES
        for metric in resource["metrics"]
    }
    expressions = " ".join(rule["expr"] for rule in rules(OF_KUBE_STATE_METRICS))
    assert set(re.findall(r"kube_\w+", expressions)) == series
    # Of the others, alerts ask the metrics of a process that works.
    of_parts = {
        ConditionType.DETECTOR_LEADING,
        ConditionType.TEMPORAL_REACHABLE,
        ConditionType.WORKER_AVAILABLE,
    }
    assert set(re.findall(r'condition=~"(.*?)"', expressions)) == {"|".join(sorted(of_parts))}


def test_each_value_that_may_stand_there_has_a_series() -> None:
    lists = [
        metric["each"].get("stateSet", {}).get("list")
        for resource in RESOURCES
        for metric in resource["metrics"]
    ]
    assert [set(words) for words in lists if words] == [set(Answer), STATES_OF_A_PHASE]
