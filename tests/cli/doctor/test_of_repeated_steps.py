"""Targets whose first step is taken again and again."""

from dataclasses import replace

import pytest

from cli.doctor.finding import FindingSeverity
from cli.doctor.of_repeated_steps import findings_of, latest_of, repetition_findings
from cli.incidents.summary import IncidentSummary
from health.model.ended_remediation import EndedRemediation
from health.model.references import TemplateReference
from tests.cli.incidents.summaries import ended
from tests.support.story.fleet import Fleet
from tests.support.values.builders import NOW, REBOOT, RESET
from tests.support.values.observations import escalating

pytestmark = pytest.mark.rule("rule 64")


def repeated(
    times: int, node: str = "node-1", taken: tuple[TemplateReference, ...] = (REBOOT,)
) -> IncidentSummary:
    summary = ended(remediation=EndedRemediation(ended=NOW, taken=taken, in_a_row=times))
    target = summary.incident.target.model_copy(update={"name": node})
    return replace(summary, incident=summary.incident.model_copy(update={"target": target}))


def test_finding_names_targets_with_their_check_and_how_often() -> None:
    (finding,) = findings_of([repeated(3), repeated(2, "node-2"), ended()])
    assert (finding.reason, finding.severity) == ("StepRepeated", FindingSeverity.WARNING)
    assert finding.what.startswith(
        "Node/node-1 (NodeHealthCheck/workers): step 1 was taken 3 times in a row; "
        "the steps after it are not reached"
    )
    assert "node-2" not in finding.what
    assert "paramedic.dev/relapse" in finding.advice


def test_finding_names_all_steps_that_are_repeated() -> None:
    (finding,) = findings_of([repeated(3, taken=(REBOOT, RESET))])
    assert "steps 1 to 2 were taken 3 times in a row" in finding.what


def test_finding_names_the_first_and_counts_the_others() -> None:
    (finding,) = findings_of([repeated(3, f"node-{number}") for number in range(5)])
    assert finding.what.endswith("; and 2 more")


def test_incidents_that_took_other_steps_are_no_finding() -> None:
    assert findings_of([ended(), repeated(0)]) == []


def test_latest_incident_of_a_name_counts_whatever_its_uid_is() -> None:
    def with_uid(summary: IncidentSummary, uid: str) -> IncidentSummary:
        target = summary.incident.target.model_copy(update={"uid": uid})
        return replace(summary, incident=summary.incident.model_copy(update={"target": target}))

    newest, older, other = with_uid(repeated(4), "b"), with_uid(repeated(3), "a"), repeated(3, "node-2")
    assert latest_of([newest, other, older]) == [newest, other]


@pytest.mark.cluster
async def test_incidents_without_a_repetition_in_temporal_are_no_finding(fleet: Fleet) -> None:
    await fleet.fail("node-1", escalating())
    assert await repetition_findings(fleet.client, [fleet.cluster], NOW) == []
