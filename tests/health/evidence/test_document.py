"""The texts of evidence: YAML whatever was read, never longer than allowed, and they say what they lack."""

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from health.evidence import INCIDENT, EvidencePart, compose, kept_target, text

FACTS = {"workflow": "remediation/a/b/c/d", "why": "Ready is Unknown: it's \N{WARNING SIGN} late"}
SMALLEST = 32 * 1024
json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=50),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=20), inner, max_size=4),
    max_leaves=12,
)
objects = st.dictionaries(st.text(max_size=20), json, max_size=6).map(
    lambda one: kept_target({"status": one})
)
parts = st.lists(
    st.builds(
        EvidencePart,
        name=st.sampled_from(["node", "events", "pods", "machine"]),
        items=st.lists(objects, max_size=8),
        is_list=st.just(value=True),
        unread=st.text(max_size=400),
        most=st.sampled_from(["", "2000 or more"]),
    ),
    max_size=4,
    unique_by=lambda one: one.name,
)


def read_yaml(body: str) -> Any:
    return yaml.load(body, Loader=yaml.CSafeLoader)


@settings(max_examples=50)
@given(parts, st.integers(0, 60), st.integers(SMALLEST, 2 * SMALLEST))
def test_document_is_yaml_within_its_limit(read: list[EvidencePart], padding: int, limit: int) -> None:
    heavy = [{"name": str(number), "message": "é" * 1000} for number in range(padding)]

    document = compose(FACTS, [*read, EvidencePart(name="heavy", items=heavy)], limit)

    assert sum(len(name) + len(body.encode()) for name, body in document.texts.items()) <= limit
    found = {name: read_yaml(body) for name, body in document.texts.items()}
    assert found[INCIDENT]["workflow"] == FACTS["workflow"]
    assert found[INCIDENT].get("lacks", []) == list(document.lacks)
    kept = found["heavy.yaml"]
    assert kept == heavy[: len(kept)]
    assert [f"{len(kept)} of {padding} heavy"] * (len(kept) < padding) == [
        lack for lack in document.lacks if lack.endswith(" heavy")
    ]


def test_pods_are_cut_before_the_first_sections() -> None:
    """Sizes are those of a big node: its own 20 KB, a hundred Events, and 400 Pods of 2 KB."""
    pods = [{"pod": f"ns/{number}", "message": "p" * 2000} for number in range(400)]
    events = [{"reason": "NodeNotReady", "message": "e" * 200} for _ in range(100)]
    node = EvidencePart(name="node", items=[{"kind": "Node", "status": ["s" * 1000] * 20}], is_list=False)

    document = compose(
        FACTS, [node, EvidencePart(name="events", items=events), EvidencePart(name="pods", items=pods)]
    )

    (lack,) = document.lacks
    kept = read_yaml(document.texts["pods.yaml"])
    assert lack == f"{len(kept)} of 400 pods"
    assert document.texts["pods.yaml"].startswith(f"# {lack}\n")
    assert len(kept) > 80
    assert len(read_yaml(document.texts["events.yaml"])) == 100
    assert read_yaml(document.texts["node.yaml"])["kind"] == "Node"


@pytest.mark.parametrize(
    ("part", "lack", "body"),
    [
        (EvidencePart(name="pods", unread="pods is forbidden"), "no pods: pods is forbidden", "[]"),
        (EvidencePart(name="pods", unread="403: one\nkey: [broken"), "no pods: 403: one key: [broken", "[]"),
        (EvidencePart(name="node", is_list=False, unread="it is gone"), "no node: it is gone", "{}"),
        (
            EvidencePart(name="node", items=[{"a": "x" * SMALLEST}], is_list=False),
            "no node: it has no room",
            "{}",
        ),
        (EvidencePart(name="pods", items=[{"a": "b"}], most="300"), "1 of 300 pods", "- {a: b}"),
        (EvidencePart(name="pods"), "", "[]"),
    ],
)
def test_missing_part_is_named_in_its_place(part: EvidencePart, lack: str, body: str) -> None:
    document = compose(FACTS, [part], SMALLEST)

    assert document.texts[part.key] == (f"# {lack}\n" if lack else "") + f"{body}\n"
    assert document.lacks == ((lack,) if lack else ())


@given(st.text(max_size=2000), st.integers(2, 1000))
def test_text_is_bounded_and_printable(given_text: str, longest: int) -> None:
    found = text(given_text, longest)
    assert len(found) <= longest
    assert all(char.isprintable() or char == "\n" for char in found)
    found.encode()


def test_lines_are_not_folded_and_what_is_there_twice_is_written_twice() -> None:
    same: dict[str, Any] = {"a": "word " * 100}
    document = compose(FACTS, [EvidencePart(name="events", items=[{"one": same, "two": same}])])
    assert "&" not in document.texts["events.yaml"]
    assert document.texts["events.yaml"].count("\n") == 2
