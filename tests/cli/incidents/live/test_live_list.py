"""The live view with keys, on a terminal without a screen; the calls to Temporal are values."""

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest
from temporalio.service import RPCError, RPCStatusCode
from textual.pilot import Pilot
from textual.widgets import DataTable, OptionList, Static

from cli.incidents.document import IncidentDocument, incident_document
from cli.incidents.live.app import LiveCalls, LiveList, matching
from cli.incidents.live.screens import INTERRUPTED, Confirmation, IncidentScreen, OrderChoice, OrderDetails
from cli.incidents.table import IncidentList
from cli.incidents.visibility import IncidentSummary
from cli.shared.errors import CommandError
from health.model.moves import Phase
from health.runbook.orders import OrderSpec
from tests.cli.incidents.summaries import UNHEALTHY, state, summary
from tests.support.values.builders import INCIDENT, NOW

NODES = [f"node-{number}" for number in range(1, 61)]


def incident(node: str, phase: Phase = Phase.REMEDIATING) -> IncidentSummary:
    why = UNHEALTHY.model_copy(update={"subject": f"Node/{node}"})
    found = summary(state(phase, why), node)
    uid = f"{NODES.index(node):0>8}-2222"
    target = found.incident.target.model_copy(update={"uid": uid})
    return replace(found, run_id=f"run-{node}", incident=found.incident.model_copy(update={"target": target}))


def listed(*summaries: IncidentSummary) -> IncidentList:
    documents = [incident_document(one, NOW) for one in summaries]
    by_run = {one.run_id: one for one in summaries}
    return IncidentList(documents=documents, has_more=False, now=NOW, summaries=by_run)


@dataclass
class Temporal:
    """Answers the reads of the view, and keeps the orders that the view gave."""

    shows: IncidentList
    failure: Exception | None = None
    given: list[tuple[str, str, str]] = field(default_factory=list)
    durations: list[timedelta | None] = field(default_factory=list)

    async def look(self) -> IncidentList:
        if self.failure is not None:
            raise self.failure
        return self.shows

    async def page(self, one: IncidentSummary) -> IncidentDocument:
        return incident_document(one, NOW)

    async def order(self, one: IncidentSummary, spec: OrderSpec[Any], details: OrderDetails) -> str:
        if self.failure is not None:
            raise self.failure
        self.given.append((spec.name, one.incident.target.name, details.reason))
        self.durations.append(details.duration)
        return "does it"

    @property
    def view(self) -> LiveList:
        return LiveList(LiveCalls(look=self.look, page=self.page, order=self.order), self.shows)


def words(pilot: Pilot[int], selector: str) -> str:
    return str(pilot.app.screen.query_one(selector, Static).render())


async def test_sixty_incidents_fit_eighty_columns_with_their_phases() -> None:
    temporal = Temporal(listed(*map(incident, NODES)))
    async with temporal.view.run_test(size=(80, 24)) as pilot:
        table = pilot.app.query_one(DataTable)
        assert table.row_count == 60
        assert sum(column.get_render_width(table) for column in table.columns.values()) <= 80
        assert {"TARGET", "PHASE"} <= {str(column.label) for column in table.columns.values()}
        assert words(pilot, "#headline").endswith("60 incidents: 60 Remediating")


async def test_order_goes_to_the_incident_that_was_chosen_although_the_table_changed() -> None:
    temporal = Temporal(listed(incident("node-1"), incident("node-2")))
    async with temporal.view.run_test() as pilot:
        await pilot.press("down", "a")
        assert isinstance(pilot.app.screen, Confirmation)
        temporal.shows = listed(incident("node-3"), incident("node-4"))
        await pilot.press(*"disk", "enter")
        await pilot.pause()
        assert temporal.given == [("abort", "node-2", "disk")]
        assert words(pilot, "#answer") == "workers/node-2: does it"


async def test_answer_that_arrives_when_the_table_is_gone_is_not_drawn() -> None:
    temporal = Temporal(listed(incident("node-1")))
    async with temporal.view.run_test() as pilot:
        await pilot.app.query_one(DataTable).remove()
        assert isinstance(pilot.app, LiveList)
        await pilot.app.read()


@pytest.mark.parametrize("key", ["h", "a"])
async def test_escape_at_the_confirmation_orders_nothing(key: str) -> None:
    temporal = Temporal(listed(incident("node-1")))
    async with temporal.view.run_test() as pilot:
        await pilot.press(key, "x", "escape")
        await pilot.pause()
        assert temporal.given == []
        assert words(pilot, "#answer").endswith("node-1: not ordered")


async def test_other_orders_are_those_that_have_an_effect_now() -> None:
    temporal = Temporal(listed(incident("node-1", Phase.LEFT_ALONE)))
    async with temporal.view.run_test() as pilot:
        await pilot.press("o")
        assert isinstance(pilot.app.screen, OrderChoice)
        options = pilot.app.screen.query_one(OptionList)
        names = [options.get_option_at_index(number).id for number in range(options.option_count)]
        assert "resume" in names
        assert "hold" not in names
        options.highlighted = names.index("resume")
        await pilot.press("enter", "enter")
        await pilot.pause()
        assert temporal.given == [("resume", "node-1", "")]


async def test_incident_of_unknown_state_offers_no_choice_of_orders() -> None:
    temporal = Temporal(listed(summary(None)))
    async with temporal.view.run_test() as pilot:
        await pilot.press("o")
        assert words(pilot, "#answer") == "the state of the incident is unknown, so no order is offered"


async def test_enter_opens_the_page_and_escape_closes_it() -> None:
    temporal = Temporal(listed(incident("node-1")))
    async with temporal.view.run_test() as pilot:
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(pilot.app.screen, IncidentScreen)
        await pilot.press("escape")
        assert not isinstance(pilot.app.screen, IncidentScreen)


async def test_filter_keeps_matching_incidents_and_typed_letters_give_no_order() -> None:
    temporal = Temporal(listed(incident("node-1"), incident("node-2", Phase.HELD)))
    async with temporal.view.run_test() as pilot:
        await pilot.press("slash", *"held")
        assert pilot.app.query_one(DataTable).row_count == 1
        assert words(pilot, "#headline").endswith("1 incident: 1 Held; the filter leaves out 1")
        assert not isinstance(pilot.app.screen, Confirmation)
        await pilot.press("enter", "h")
        assert isinstance(pilot.app.screen, Confirmation)
        await pilot.press("escape", "escape")
        await pilot.pause()
        assert pilot.app.query_one(DataTable).row_count == 2


async def test_cursor_stays_on_its_incident_when_rows_come_and_go() -> None:
    temporal = Temporal(listed(incident("node-2"), incident("node-3")))
    view = temporal.view
    async with view.run_test() as pilot:
        await pilot.press("down")
        temporal.shows = listed(*map(incident, NODES[:5]))
        await view.read()
        await pilot.press("h", "enter")
        await pilot.pause()
        assert temporal.given == [("hold", "node-3", "")]


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        (RPCError("tcp connect error", RPCStatusCode.UNAVAILABLE, b""), "Temporal does not answer"),
        (RPCError("no hosts", RPCStatusCode.UNAVAILABLE, b""), "Unavailable: no hosts"),
        (CommandError("the incident has ended meanwhile"), "the incident has ended meanwhile"),
    ],
)
async def test_error_of_temporal_is_shown_and_the_view_goes_on(failure: Exception, expected: str) -> None:
    temporal = Temporal(listed(incident("node-1")))
    view = temporal.view
    async with view.run_test() as pilot:
        temporal.failure = failure
        await pilot.press("h", "enter")
        await pilot.pause()
        assert expected in words(pilot, "#answer")
        assert words(pilot, "#headline").endswith(f"; this is of {NOW:%H:%M:%SZ}")
        assert pilot.app.query_one(DataTable).row_count == 1
        temporal.failure = None
        await view.read()
        assert words(pilot, "#headline").endswith("1 incident: 1 Remediating")


@pytest.mark.parametrize(("key", "code"), [("q", 0), ("ctrl+c", INTERRUPTED)])
async def test_key_ends_the_view_with_its_exit_code(key: str, code: int) -> None:
    temporal = Temporal(listed(incident("node-1")))
    async with temporal.view.run_test() as pilot:
        await pilot.press(key)
    assert pilot.app.return_value == code


async def test_name_with_markup_is_shown_as_it_is() -> None:
    named = incident("node-1")
    check = named.incident.check.model_copy(update={"name": "[red]x[/red]"})
    temporal = Temporal(listed(replace(named, incident=named.incident.model_copy(update={"check": check}))))
    async with temporal.view.run_test(size=(200, 24)) as pilot:
        cells = [str(cell) for cell in pilot.app.query_one(DataTable).get_row_at(0)]
        assert "[red]x[/red]" in cells


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 2),
        ("NODE-1", 1),
        ("workers held", 1),
        ("nodehealthcheck", 2),
        ("node-1 held", 0),
        (INCIDENT.cluster, 2),
    ],
)
def test_filter_needs_each_word_somewhere(text: str, expected: int) -> None:
    found = matching(listed(incident("node-1"), incident("node-2", Phase.HELD)).documents, text)
    assert len(found) == expected


def keys(pilot: Pilot[int]) -> dict[str, str]:
    """The keys in the footer, with their words."""
    bindings = [active.binding for active in pilot.app.screen.active_bindings.values() if active.enabled]
    return {binding.key: binding.description for binding in bindings if binding.show}


async def test_footer_has_the_keys_that_have_an_effect() -> None:
    async with Temporal(listed(incident("node-1"))).view.run_test(size=(80, 24)) as pilot:
        of_list = {"enter": "open", "slash": "filter", "h": "hold", "a": "abort", "o": "other orders"}
        assert keys(pilot) == {**of_list, "q": "quit"}
        await pilot.press("slash")
        assert "no filter" in keys(pilot).values()
        await pilot.press("escape", "enter")
        await pilot.pause()
        assert keys(pilot) == {"escape": "back", "q": "back", "ctrl+c": "quit"}


async def test_confirmation_shows_the_state_and_takes_a_time() -> None:
    temporal = Temporal(listed(incident("node-1", Phase.HELD)))
    async with temporal.view.run_test() as pilot:
        await pilot.press("h")
        assert words(pilot, "#state").startswith("Held: Ready is Unknown")
        await pilot.press("tab", *"soon", "enter")
        await pilot.pause()
        assert words(pilot, "#wrong").startswith("for: ")
        await pilot.press(*["backspace"] * 4, *"2h", "enter")
        await pilot.pause()
    assert temporal.durations == [timedelta(hours=2)]
