"""Events, annotations and labels: each one of the code has a row on its page."""

import ast
import re
from collections.abc import Iterator
from functools import cache

from health.policy.check_choices import CheckChoices
from tests.pages.page import modules, named, part, rows, strings_of

EVENTS, ANNOTATIONS = "events.md", "annotations.md"
CAMEL_CASE = re.compile(r"(?:[A-Z][a-z]+)+")
MAKERS = {"Event", "EventNote", "Severity", "Statement", "of_check"}
"""Whoever imports or defines one of these says reasons of Events, or of conditions that are told by them."""
NO_EVENTS = {
    *("False", "True", "Unknown"),
    *("HealthCheck", "Remediate"),  # what was being done: the action of an Event
    *("CheckDisabled", "CheckUnreadable", "ClusterMissing", "ParamedicStatus"),
    *("Error", "Info", "NotPaused", "Paused", "Remediating"),
    *("KubeadmControlPlane", "RollingOut"),
}
"""Words in the same files that are no reasons of Events: conditions, kinds, types, findings of `doctor`."""
KEY = re.compile(r"[a-z0-9.-]+\.(?:dev|io)/(?!v\d)[A-Za-z-]+")


@cache
def event_reasons() -> frozenset[tuple[str, str]]:
    """Each word of the code that may be the reason of an Event, and the file that says it."""
    return frozenset(
        (word, file.name)
        for file in modules("activities", "detector", "health", "runtime")
        if MAKERS & (names := set(_imported_or_defined(ast.parse(file.read_text()))))
        for word in strings_of(file)
        if CAMEL_CASE.fullmatch(word) and word not in names  # a string with a type is a cast
    )


def _imported_or_defined(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ClassDef):
            yield node.name


def test_each_reason_of_an_event_is_on_the_page() -> None:
    said = set(re.findall(r"`(\w+)`", part(EVENTS, "# Events")))
    missing = {f"{word} ({file})" for word, file in event_reasons() if word not in said | NO_EVENTS}
    assert not missing, (
        f"docs/{EVENTS}: add a row for {', '.join(sorted(missing))} to one of its tables: reason, on "
        "which object, what it tells, what to do; or, if it is no reason of an Event, add it to NO_EVENTS"
    )


def test_page_has_no_event_that_the_code_does_not_emit() -> None:
    in_code = {word for word, _ in event_reasons()}
    assert [
        one for row in rows(part(EVENTS, "# Events")) for one in named(row[0]) if one not in in_code
    ] == []
    assert in_code >= NO_EVENTS, "an exception that is none any more"


def test_each_annotation_and_label_of_the_code_is_on_the_page() -> None:
    said = {name for row in rows(part(ANNOTATIONS, "# Annotations and labels")) for name in named(row[0])}
    choices = {str(field.alias) for field in CheckChoices.model_fields.values()}
    in_code = {key for file in modules() for key in strings_of(file) if KEY.fullmatch(key)}
    missing = sorted((in_code | choices) - said)
    assert not missing, (
        f"docs/{ANNOTATIONS}: add a row for {', '.join(missing)} to its table: "
        "name, on which objects, who writes it, who reads it, whether a person may set it"
    )
