"""The dashboard of deploy/components/grafana: its series exist, and Prometheus answers its queries.

A panel without data on the day of an incident is worse than no panel, so promtool evaluates each query over
a sample of every series, with the labels that docs/metrics.md lists.
"""

import json
import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, ProcessCollector

from devcluster.manifests import ROOT
from tests.pages.metric_tables import NAME, documented, histograms
from tests.support.promtool import promtool
from tests.support.temporal_metrics import TEMPORAL_LABELS, TEMPORAL_SERIES

FILE = ROOT / "deploy" / "components" / "grafana" / "paramedic.json"
DASHBOARD: dict[str, Any] = json.loads(FILE.read_text())
PANELS: list[dict[str, Any]] = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
COLUMNS = 24
VARIABLES = {"$__rate_interval": "5m", "$__range": "1h", "$check": ".*"}
SERIES = re.compile(rf"{NAME.pattern}|(?:temporal|process)_[a-z_]+")
OF_A_HISTOGRAM = re.compile(r"_(?:bucket|sum|count)$")
VALUES = {"outcome": "Remediated", "phase": "Exhausted", "result": "Held", "trigger": "automated"}
"""The values of labels that a query asks for; all other labels are `x`."""
INSTANCES = {"paramedic_leader": ("detector",)}
"""The processes that have a series; by default both."""


def queries() -> Iterator[str]:
    """Each query, with values in place of Grafana's variables."""
    for panel in PANELS:
        for target in panel["targets"]:
            expression = target["expr"]
            for variable, value in VARIABLES.items():
                expression = expression.replace(variable, value)
            yield expression


QUERIES = [*queries()]


def exported() -> dict[str, set[str]]:
    """The labels of every series that the processes export, without those that Prometheus adds."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    of_process: dict[str, set[str]] = {
        sample.name: set() for family in registry.collect() for sample in family.samples
    }
    return documented() | of_process | dict.fromkeys(TEMPORAL_SERIES, TEMPORAL_LABELS)


def base(name: str) -> str:
    """The name of the family, of a histogram as of others."""
    without = OF_A_HISTOGRAM.sub("", name)
    return without if is_histogram(without) else name


def is_histogram(name: str) -> bool:
    return name in histograms() or (name in TEMPORAL_SERIES and name.endswith("_seconds"))


def sample(name: str, labels: set[str]) -> list[dict[str, str]]:
    """Input series of promtool: a value that grows each minute, with each label of the family."""
    pairs = {label: VALUES.get(label, "x") for label in labels}
    if is_histogram(name):
        endings = [("_bucket", {"le": "10"}), ("_bucket", {"le": "+Inf"}), ("_sum", {}), ("_count", {})]
    else:
        endings = [("", {})]
    return [
        {"series": f"{name}{ending}{_braces(pairs | more | {'instance': instance})}", "values": "1+1x120"}
        for ending, more in endings
        for instance in INSTANCES.get(name, ("detector", "worker"))
    ]


def _braces(labels: dict[str, str]) -> str:
    return "{" + ", ".join(f'{name}="{value}"' for name, value in labels.items()) + "}"


@pytest.mark.parametrize("query", QUERIES)
def test_query_asks_for_series_and_labels_that_there_are(query: str) -> None:
    known = exported()
    names = {base(name) for name in SERIES.findall(query)}
    assert names, "it asks for no series of ours"
    assert names <= known.keys()
    labels = set().union(*(known[name] for name in names)) | {"le", "instance"}
    groups = [group.split(", ") for group in re.findall(r"\b(?:by|on) \(([^)]*)\)", query)]
    inside = " ".join(re.findall(r"\{([^}]*)\}", query))
    matchers = re.findall(r"(\w+)=", inside)
    assert {label for group in groups for label in group} | set(matchers) <= labels


async def test_prometheus_answers_every_query_with_data(tmp_path: Path) -> None:
    inputs = [one for name, labels in exported().items() for one in sample(name, labels)]
    tests = [
        {
            "interval": "1m",
            "input_series": inputs,
            "promql_expr_test": [
                {
                    "expr": f"count({query}) > bool 0",
                    "eval_time": "90m",
                    "exp_samples": [{"labels": "{}", "value": 1}],
                }
                for query in QUERIES
            ],
        }
    ]
    file = tmp_path / "tests.yaml"
    file.write_text(json.dumps({"rule_files": [], "tests": tests}))
    status, out = await promtool("test", "rules", str(file))
    assert status == 0, out


def test_panels_have_a_title_a_description_and_a_place_of_their_own() -> None:
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
    for panel in PANELS:
        assert panel["title"], panel["id"]
        assert panel["description"], panel["title"]
        assert {target["datasource"]["uid"] for target in panel["targets"]} == {"${datasource}"}
    places = [(panel["title"], _place(panel)) for panel in DASHBOARD["panels"]]
    assert all(x2 <= COLUMNS for _, (_, _, x2, _) in places)
    assert [(one, other) for (one, a), (other, b) in combinations(places, 2) if _overlap(a, b)] == []


def _place(panel: dict[str, Any]) -> tuple[int, int, int, int]:
    grid = panel["gridPos"]
    return grid["x"], grid["y"], grid["x"] + grid["w"], grid["y"] + grid["h"]


def _overlap(one: tuple[int, int, int, int], other: tuple[int, int, int, int]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def of_type(type_: str) -> list[dict[str, Any]]:
    return [panel for panel in PANELS if panel["type"] == type_]


def test_value_without_data_is_not_green() -> None:
    """Without a mapping, Grafana shows an absent value in the colour of the lowest threshold."""
    for panel in of_type("stat"):
        matches = {
            mapping["options"].get("match"): mapping["options"].get("result", {}).get("color")
            for mapping in panel["fieldConfig"]["defaults"]["mappings"]
        }
        assert matches.get("null") == "orange", panel["title"]
        assert not any("vector(0)" in target["expr"] for target in panel["targets"]), panel["title"]


def test_rare_events_are_counted_in_steps_of_minutes() -> None:
    """In shorter steps the windows overlap: one event is drawn several times, or as a line of no length."""
    rare = re.compile(r"increase\(|histogram_quantile\(.*paramedic_")
    for panel in of_type("timeseries"):
        if any(rare.search(target["expr"]) for target in panel["targets"]):
            assert panel.get("interval") == "5m", panel["title"]
            assert panel["fieldConfig"]["defaults"]["custom"]["drawStyle"] in {"bars", "points"}


def test_query_over_the_time_range_is_evaluated_once() -> None:
    for panel in PANELS:
        for target in panel["targets"]:
            assert not ("$__range" in target["expr"] and target["range"]), panel["title"]


def test_columns_that_a_table_formats_exist() -> None:
    for panel in of_type("table"):
        names = panel["transformations"][-1]["options"]["renameByName"].values()
        formatted = {override["matcher"]["options"] for override in panel["fieldConfig"]["overrides"]}
        sorted_by = {column["displayName"] for column in panel["options"]["sortBy"]}
        assert formatted | sorted_by <= {*names}, panel["title"]


def test_alert_that_a_panel_names_exists() -> None:
    named = set(re.findall(r"alerts? (Paramedic\w+)", FILE.read_text()))
    rules = (ROOT / "deploy" / "components" / "prometheus" / "alerts.yaml").read_text()
    assert named
    assert named <= set(re.findall(r"- alert: (\w+)", rules))
