"""Output about incidents of another worker version: unknown values are shown unchanged."""

from rich.console import Console

from cli.incidents.page import IncidentPage, incident_page
from cli.incidents.table import headline, incident_table
from cli.incidents.view import IncidentView
from health.model.moves import Phase
from health.model.observation import Hold
from tests.cli.incidents.summaries import UNHEALTHY, state, summary, unhealthy
from tests.support.values.builders import NOW
from workflows.messages import State

QUARANTINE = Hold(reason="Quarantine", message="rack 7 is quarantined")
WIRE = (
    state(Phase.HELD, UNHEALTHY, unhealthy(hold=QUARANTINE))
    .model_dump_json()
    .replace('"phase":"Held"', '"phase":"Parked"')
)


def test_phase_and_reason_that_are_not_known_are_shown_as_text() -> None:
    seen_here = summary(State.model_validate_json(WIRE))
    assert headline([seen_here]) == "1 incident: 1 Parked"
    console = Console(width=1000, highlight=False)
    with console.capture() as captured:
        console.print(incident_table([seen_here], NOW, width=1000, is_wide=False))
        console.print(incident_page(IncidentPage(summary=seen_here, ui_link="", now=NOW, name="node-1")))
    assert captured.get().count("Parked") == 2
    assert "held: Quarantine: rack 7 is quarantined" in captured.get()
    assert '"phase":"Parked"' in IncidentView.of(seen_here, NOW).model_dump_json()
