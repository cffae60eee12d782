"""Shortened texts of a workflow, and the summaries of activities: what each asks or does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import to_json

from health.model.details import Details
from health.model.moves import AnnotationPatch, Phase
from health.model.references import Action, RequestReference, Step, TemplateReference
from objects.short_text import LONGEST_LINE, SHORTEST_NAME, Brief, cut_to_bytes
from tests.support.values.builders import INCIDENT, NOW
from tests.support.values.memories import order
from workflows.contracts import CleanUpInput, EvidenceInput, ObserveInput
from workflows.kit import SUMMARY_BYTES, in_summary
from workflows.status import (
    annotation_summary,
    clean_up_summary,
    evidence_summary,
    question_summary,
    step_summary,
)


@pytest.mark.parametrize("letter", ["x", "é", "…", "🔥", '"', "\n", "\\", "\x1b"])
def test_words_that_are_too_long_end_with_a_mark_and_fill_what_they_may(letter: str) -> None:
    cut = cut_to_bytes(letter * 500, 350)
    assert cut.endswith("…")
    assert set(cut[:-1]) == {letter}
    assert 350 - 6 <= len(to_json(cut)) <= 350


def test_words_that_just_fit_are_not_cut() -> None:
    assert cut_to_bytes("x" * 348, 350) == "x" * 348
    assert cut_to_bytes("x" * 349, 350) == "x" * 345 + "…"
    assert cut_to_bytes("", 350) == ""


@given(before=st.text(), name=st.text(max_size=300), after=st.text())
def test_summary_of_any_text_is_one_short_line(before: str, name: str, after: str) -> None:
    summary = in_summary(Brief(before, name, after))
    assert len(summary) <= LONGEST_LINE
    assert len(summary.splitlines()) <= 1
    assert len(to_json(summary.encode(errors="replace").decode())) <= SUMMARY_BYTES


def test_name_is_cut_before_the_words_around_it() -> None:
    cut = Brief("create Reboot from", "n" * 250, "and 2 more").within()
    assert len(cut) == LONGEST_LINE
    assert cut.startswith("create Reboot from n")
    assert cut.endswith("n… and 2 more")
    assert Brief("delete", "Reboot/ns/node-1").within() == "delete Reboot/ns/node-1"


def test_beginning_of_a_name_stays_beside_words_that_are_too_long() -> None:
    cut = Brief("x" * 40, "name-of-a-node", "y" * 40).within()
    assert f"x {'name-of-a-node'[: SHORTEST_NAME - 1]}… y" in cut
    assert len(cut) == LONGEST_LINE


LONG = "n" * 253
HELD = Details(subject="Node/node-1", reason="Ready is False", more=("Threshold: 3 of 6 are unhealthy",))


def request(name: str) -> RequestReference:
    return RequestReference(api_version="x/v1", kind="Reboot", namespace="ns", name=name, uid=name)


def template(name: str) -> TemplateReference:
    return TemplateReference(api_version="x/v1", kind="RebootTemplate", namespace="ns", name=name)


def clean_up(*names: str) -> Brief:
    return clean_up_summary(CleanUpInput(incident=INCIDENT, requests=tuple(map(request, names))))


def annotation(*names: str) -> Brief:
    patches = (
        AnnotationPatch(request=request(name), annotations={"remediation.medik8s.io/timed-out": "x"})
        for name in names
    )
    return annotation_summary(tuple(patches))


@pytest.mark.parametrize(
    ("brief", "expected"),
    [
        (step_summary(Step(template=template("fast")), INCIDENT.target), "create Reboot from ns/fast"),
        (step_summary(Step(action=Action.DELETE), INCIDENT.target), "delete Node/node-1"),
        (step_summary(Step(action=Action.MARK), INCIDENT.target), "mark Node/node-1"),
        (clean_up(), "release the Lease"),
        (clean_up("a"), "delete Reboot/ns/a"),
        (clean_up("a", "b", "c"), "delete Reboot/ns/a and 2 more"),
        (annotation("a"), "write timed-out on Reboot/ns/a"),
        (annotation("a", "b"), "write timed-out on Reboot/ns/a and 1 more"),
    ],
)
def test_activity_says_what_it_does(brief: Brief, expected: str) -> None:
    assert brief.within() == expected


def test_evidence_names_the_step_that_follows() -> None:
    asked = EvidenceInput(
        incident=INCIDENT,
        first_run_id="run",
        step=Step(template=template("fast")),
        reason="x",
        fact={"condition": "Ready", "status": "False", "since": NOW},
        generation=1,
    )
    assert evidence_summary(asked).within() == "before: create Reboot from ns/fast"


@pytest.mark.parametrize("phase", Phase)
def test_every_phase_has_its_question_and_the_hold_follows(phase: Phase) -> None:
    asked = question_summary(ObserveInput(incident=INCIDENT), phase, HELD).within()
    question, _, hold = asked.partition("? ")
    assert question
    assert "Threshold: 3 of 6 are unhealthy".startswith(hold.removesuffix("…"))
    assert len(hold) > len("Threshold: 3")


def test_question_that_reports_an_order_names_it() -> None:
    asked = ObserveInput(incident=INCIDENT, orders=(order("hold", "disk swap"), order("skip", "")))
    assert question_summary(asked, Phase.REMEDIATING, HELD).within() == (
        "is it healthy now? reports hold, skip"
    )


@pytest.mark.parametrize(
    ("brief", "begin", "end"),
    [
        (
            step_summary(Step(template=template(LONG)), INCIDENT.target),
            "create Reboot from ns/n",
            "n…",
        ),
        (clean_up(LONG), "delete Reboot/ns/n", "n…"),
        (clean_up(LONG, "b", "c"), "delete Reboot/ns/n", "n… and 2 more"),
        (annotation(LONG, "b"), "write timed-out on Reboot/ns/n", "n… and 1 more"),
    ],
)
def test_long_name_is_cut_and_the_rest_stays(brief: Brief, begin: str, end: str) -> None:
    summary = brief.within()
    assert len(summary) == LONGEST_LINE
    assert summary.startswith(begin)
    assert summary.endswith(end)
