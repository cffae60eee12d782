"""The summaries of activities: what each asks or does, also with the longest names."""

import pytest

from health.model.details import Details
from health.model.moves import AnnotationPatch, Phase
from health.model.references import Action, RequestReference, Step, TemplateReference
from objects.short_text import LONGEST_LINE, Brief
from tests.support.values.builders import INCIDENT, NOW
from tests.support.values.memories import order
from workflows.contracts import CleanUpInput, EvidenceInput, ObserveInput
from workflows.status import (
    annotation_summary,
    clean_up_summary,
    evidence_summary,
    question_summary,
    step_summary,
)

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
