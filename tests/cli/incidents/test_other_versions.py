"""Output about incidents of another worker version: unknown values are shown unchanged."""

from rich.console import Console

from cli.incidents.show import incident_page
from cli.incidents.table import fitted_table, headline, incident_rows
from health.model.moves import Phase
from health.model.observation import Hold
from tests.cli.incidents.summaries import UNHEALTHY, document, state, summary, unhealthy
from workflows.messages import State

QUARANTINE = Hold(reason="Quarantine", message="rack 7 is quarantined")
WIRE = (
    state(Phase.HELD, UNHEALTHY, unhealthy(hold=QUARANTINE))
    .model_dump_json()
    .replace('"phase":"Held"', '"phase":"Parked"')
)


def test_phase_and_reason_that_are_not_known_are_shown_as_text() -> None:
    seen_here = document(summary(State.model_validate_json(WIRE)))
    assert headline([seen_here]) == "1 incident: 1 Parked"
    console = Console(width=1000, highlight=False)
    with console.capture() as captured:
        console.print(fitted_table(incident_rows([seen_here], is_wide=False), 1000))
        console.print(incident_page(seen_here))
    assert captured.get().count("Parked") == 2
    assert "held: Quarantine: rack 7 is quarantined" in captured.get()
    assert '"phase":"Parked"' in seen_here.model_dump_json()
