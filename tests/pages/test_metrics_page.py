"""docs/metrics.md: each series of the code, with its labels, and alerts on series that there are."""

import ast
import re
from collections.abc import Iterator
from functools import cache

import pytest

from detector.metrics.live_metrics import ObservedPhase
from health.check.ordered import Trigger
from health.model.observation import HoldReason
from tests.pages.metric_tables import NAME, PAGE, documented
from tests.pages.page import modules, named, part, rows, strings_of
from tests.support.alert_rules import alerts
from worker.worker_metrics import GIVEN_UP, NOT_SAVED, SAVED
from workflows.notification import Delivery

FAMILIES = {"Counter", "Histogram", "GaugeMetricFamily"}
OF_TEMPORAL = {"paramedic_incident_began", "paramedic_incident_ended", "paramedic_notification_ended"}
"""Names that are none of metrics: functions that workflows call."""
WORDS = {
    ("paramedic_open_incidents", "phase"): {*ObservedPhase},
    ("paramedic_holds", "reason"): {*HoldReason},
    ("paramedic_holds", "trigger"): {*Trigger},
    ("paramedic_checks", "phase"): {"Disabled", "Enabled", "Paused", "Remediating"},
    ("paramedic_evidence_total", "result"): {SAVED, NOT_SAVED},
    ("paramedic_notifications_total", "result"): {*Delivery, GIVEN_UP},
}
"""What labels can say that alerts ask for."""


@cache
def declared() -> tuple[tuple[str, set[str]], ...]:
    """Name and labels of each series that the code declares in one call, with the words themselves."""
    return tuple(_declared())


def _declared() -> Iterator[tuple[str, set[str]]]:
    for file in modules("detector", "runtime", "worker"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in FAMILIES and node.args:
                name = node.args[0]
                if isinstance(name, ast.Constant) and isinstance(name.value, str):
                    yield name.value, _labels(node)


def _labels(call: ast.Call) -> set[str]:
    stated = [keyword.value for keyword in call.keywords if keyword.arg == "labels"]
    return {
        label.value
        for tuple_ in (*call.args[2:], *stated)
        for label in getattr(tuple_, "elts", ())
        if isinstance(label, ast.Constant) and isinstance(label.value, str)
    }


def asked(expression: str) -> Iterator[tuple[str, str, str, list[str]]]:
    """Series, label, operator and words of each matcher."""
    for series, matchers in re.findall(rf"({NAME.pattern})\{{(.*?)\}}", expression, re.DOTALL):
        for label, operator, words in re.findall(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"', matchers):
            yield series, label, operator, words.split("|")


def test_page_has_every_series_of_the_code_and_no_other() -> None:
    found = {name for file in modules() for name in strings_of(file)}
    in_code = {name for name in found if NAME.fullmatch(name)} - OF_TEMPORAL
    assert {name for name, _ in declared()} <= in_code, "a series with a prefix that is not looked for"
    assert {name.removesuffix("_total") for name in documented()} == in_code, (
        "add what is new to a table of docs/metrics.md, with its labels"
    )


def test_page_has_the_labels_of_the_code() -> None:
    on_page = {name.removesuffix("_total"): labels for name, labels in documented().items()}
    assert {name: on_page[name] for name, _ in declared()} == dict(declared())


@pytest.mark.parametrize("expression", alerts())
def test_alert_asks_for_series_labels_and_words_that_there_are(expression: str) -> None:
    series, known = NAME.findall(expression), documented()
    assert series
    assert [name for name in series if name not in known] == []
    labels = {label for name in series for label in known[name]}
    grouped = re.findall(r"\b(?:by|on) \(([^)]*)\)", expression)
    assert {label for group in grouped for label in group.split(", ")} <= labels
    for name, label, _, words in asked(expression):
        assert label in known[name]
        assert set(words) <= WORDS[name, label]


def test_each_reason_to_hold_has_its_alert() -> None:
    matchers = [matcher for alert in alerts() for matcher in asked(alert)]
    found = {
        operator: set(words)
        for name, label, operator, words in matchers
        if (name, label) == ("paramedic_holds", "reason")
    }
    assert found.keys() == {"=~", "!~"}
    assert found["=~"] == found["!~"], "what the first alert leaves out the second asks for"


@pytest.mark.parametrize("phase", [ObservedPhase.ADMITTED, ObservedPhase.EXHAUSTED, ObservedPhase.UNDER_WAY])
def test_phase_in_which_a_node_stays_broken_has_its_alert(phase: ObservedPhase) -> None:
    assert [
        alert
        for alert in alerts()
        for _, label, _, words in asked(alert)
        if (label, words) == ("phase", [phase])
    ]


def test_page_says_what_each_phase_is() -> None:
    said = {name for row in rows(part(PAGE, "## Detector")) for name in named(row[0])}
    assert set(ObservedPhase) <= said
