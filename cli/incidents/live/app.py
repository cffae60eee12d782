"""The live list: the incidents in a table that is read again every two seconds, with keys and a filter.

The cursor stays on its incident, not on its row. An order names the incident that was under the cursor when
the person pressed the key, although the table may have changed since.
"""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, ClassVar

from rich.text import Text
from temporalio.client import Client
from temporalio.service import RPCError
from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import DataTable, Footer, Input, Static

from cli.incidents.document import IncidentDocument, incident_document
from cli.incidents.live.screens import INTERRUPTED, Confirmation, IncidentScreen, OrderChoice, OrderDetails
from cli.incidents.orders import GivenOrder, give
from cli.incidents.show import incident_page
from cli.incidents.state_queries import StateQueries
from cli.incidents.table import IncidentList, Wanted, fitted, headline, in_order, incident_rows, look
from cli.incidents.visibility import IncidentSummary
from cli.incidents.watching import EVERY_SECONDS, TERMINATED, end_at_sigterm, head
from cli.shared.connection import identity_of
from cli.shared.errors import CommandError, ExitCode
from cli.shared.terminal import GAP, error_sentence, plain
from health.runbook.orders import ORDERS, OrderSpec


@dataclass(frozen=True, kw_only=True)
class LiveCalls:
    """The reads of the live view, and its way to give an order."""

    look: Callable[[], Awaitable[IncidentList]]
    page: Callable[[IncidentSummary], Awaitable[IncidentDocument]]
    order: Callable[[IncidentSummary, OrderSpec[Any], OrderDetails], Awaitable[str]]
    """Gives an order to an incident, and returns the answer."""


def live_calls(client: Client, wanted: Wanted, environment: Mapping[str, str], command: str) -> LiveCalls:
    """The calls by a client; `command` begins the command lines that a page proposes."""

    async def page(summary: IncidentSummary) -> IncidentDocument:
        queried = await StateQueries(client).one(summary)
        return incident_document(queried, datetime.now(UTC), command=command)

    async def order(summary: IncidentSummary, spec: OrderSpec[Any], details: OrderDetails) -> str:
        time = {"for_seconds": details.duration.total_seconds()} if details.duration else {}
        message = spec.message(reason=details.reason, identity=identity_of(environment), **time)
        return await give(client, summary, GivenOrder(message, summary.incident.cluster))

    return LiveCalls(look=lambda: look(client, wanted, command), page=page, order=order)


class FilterField(Input):
    """The words of the filter. A hidden field takes no keys, so that no incident is hidden by accident."""

    def __init__(self) -> None:
        super().__init__(placeholder="words that incidents must contain", disabled=True)
        self.display = False

    def begin(self) -> None:
        self.display, self.disabled = True, False
        self.focus()

    def end(self) -> None:
        self.value, self.display, self.disabled = "", False, True


def matching(documents: Iterable[IncidentDocument], text: str) -> list[IncidentDocument]:
    """The incidents with each word of `text` in their name, cluster, phase or details, in any case."""
    found = []
    for one in documents:
        searched = f"{one.cluster} {one.check} {one.target} {one.phase or 'unknown'} {one.words}".casefold()
        if all(word in searched for word in text.casefold().split()):
            found.append(one)
    return found


class IncidentTable(DataTable[Text]):
    """The table of incidents; the footer shows its key that opens a page."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "select_cursor", "open", key_display="Enter")]


_OF_THE_LIST = frozenset({"filter", "order", "choose", "leave_filter"})
"""The actions that have no effect on other screens."""


class LiveList(App[int]):
    """The live view; it returns the exit code of the command."""

    ENABLE_COMMAND_PALETTE = False
    CSS = """
    #headline { height: 1; } FilterField { border: none; height: 1; }
    #answer { height: auto; max-height: 3; }
    DataTable { height: 1fr; }
    .dialog { width: 76; height: auto; max-height: 20; padding: 1 2; border: solid $primary; }
    Confirmation, OrderChoice { align: center middle; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("slash", "filter", "filter"),
        ("h", "order('hold')", "hold"),
        ("a", "order('abort')", "abort"),
        ("o", "choose", "other orders"),
        ("escape", "leave_filter", "no filter"),
        ("q", "leave(0)", "quit"),
        Binding("ctrl+c", f"leave({INTERRUPTED})", show=False, priority=True),
    ]

    def __init__(self, calls: LiveCalls, first: IncidentList) -> None:
        """Begin with a list that was read already, so that the first error of Temporal ends the command."""
        super().__init__()
        self._calls = calls
        self._listed = first
        self._problem = ""
        self._shown: list[IncidentDocument] = []

    def compose(self) -> ComposeResult:
        yield Static(id="headline")
        yield FilterField()
        yield IncidentTable(cursor_type="row", zebra_stripes=False, cell_padding=0)
        yield Static(id="answer")
        yield Footer()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """False hides the key of an action that has no effect now."""
        if action not in _OF_THE_LIST:
            return super().check_action(action, parameters)
        if not self.screen.query(IncidentTable):
            return False
        return action != "leave_filter" or self.query_one(FilterField).display

    def on_mount(self) -> None:
        self.query_one(DataTable).focus()
        self._draw()
        self._keep_reading()

    def on_resize(self) -> None:
        self._draw()

    @work(exclusive=True, group="reading")
    async def _keep_reading(self) -> None:
        """Read the incidents again and again; an error is shown with the time of the last good answer."""
        while True:
            await asyncio.sleep(EVERY_SECONDS)
            await self.read()

    async def read(self) -> None:
        try:
            self._listed, self._problem = await self._calls.look(), ""
        except (RPCError, CommandError) as error:
            self._problem = error_sentence(error)
        self._draw()

    def _draw(self) -> None:
        if not self.query(DataTable):  # the first resize arrives before the table, an answer perhaps after it
            return
        chosen, table = self._chosen(), self.query_one(DataTable)
        found = in_order(matching(self._listed.documents, self.query_one(FilterField).value))
        widths, rows = fitted(incident_rows(found, is_wide=False), max(1, self.size.width - GAP))
        table.clear(columns=True)
        for name, wide in widths.items():
            table.add_column(name, width=wide + GAP)
        for cells in rows:
            for cell, wide in zip(cells, widths.values(), strict=True):
                cell.truncate(wide, overflow="ellipsis")
            table.add_row(*cells)
        self._shown = found
        ids = [document.workflow_id for document in found]
        if chosen is not None and chosen.workflow_id in ids:
            table.move_cursor(row=ids.index(chosen.workflow_id))
        left_out = len(self._listed.documents) - len(found)
        filtered = f"; the filter leaves out {left_out}" if left_out else ""
        counted = f"{headline(found) if found else 'no incidents'}{filtered}"
        self.query_one("#headline", Static).update(head(plain(counted), self._listed.now, self._problem))

    def _chosen(self) -> IncidentDocument | None:
        row = self.query_one(DataTable).cursor_row
        return self._shown[row] if 0 <= row < len(self._shown) else None

    def action_filter(self) -> None:
        self.query_one(FilterField).begin()
        self.refresh_bindings()

    def action_leave_filter(self) -> None:
        self.query_one(FilterField).end()
        self.refresh_bindings()
        self.query_one(DataTable).focus()

    def on_input_changed(self) -> None:
        self._draw()

    def on_input_submitted(self) -> None:
        self.query_one(DataTable).focus()

    def on_data_table_row_selected(self) -> None:
        if (chosen := self._chosen()) is not None:
            self._open(self._listed.summaries[chosen.run_id])

    @work(exclusive=True, group="page")
    async def _open(self, summary: IncidentSummary) -> None:
        try:
            document = await self._calls.page(summary)
        except (RPCError, CommandError) as error:
            self._say(error_sentence(error), is_error=True)
            return
        await self.push_screen(IncidentScreen(document.short_name, incident_page(document)))

    def action_order(self, name: str) -> None:
        if (chosen := self._chosen()) is not None:
            self._order(chosen, self._listed.summaries[chosen.run_id], ORDERS[name])

    def action_choose(self) -> None:
        chosen = self._chosen()
        if chosen is None or chosen.phase is None:
            self._say("the state of the incident is unknown, so no order is offered", is_error=True)
            return
        self._order(chosen, self._listed.summaries[chosen.run_id], None)

    @work(exclusive=True, group="order")
    async def _order(
        self, chosen: IncidentDocument, summary: IncidentSummary, spec: OrderSpec[Any] | None
    ) -> None:
        """Give the order, or the one that the person chooses, once the person has confirmed it."""
        name = chosen.short_name
        if spec is None:
            complete = [order for order in chosen.possible_orders if not order.steps]
            orders = [ORDERS[order.order] for order in complete]
            spec = await self.push_screen_wait(OrderChoice(name, orders))
        if spec is None:
            return
        state = f"{chosen.phase or 'unknown'}: {plain(chosen.brief or chosen.words)}"
        confirmed = await self.push_screen_wait(Confirmation(name, spec, state))
        if confirmed is None:
            self._say(f"{spec.name} {name}: not ordered")
            return
        self._say(f"{spec.name} {name}: sent, no answer yet")
        try:
            self._say(f"{name}: {await self._calls.order(summary, spec, confirmed)}")
        except (RPCError, CommandError) as error:
            self._say(f"{spec.name} {name}: {error_sentence(error)}", is_error=True)
        await self.read()

    def _say(self, words: str, *, is_error: bool = False) -> None:
        self.query_one("#answer", Static).update(Text(plain(words), style="bold red" if is_error else ""))

    def action_leave(self, code: int) -> None:
        self.exit(code)


async def run_live(client: Client, wanted: Wanted, environment: Mapping[str, str], command: str) -> int:
    """Show the incidents until the person leaves. Returns the exit code.

    Raises:
        RPCError: the first list cannot be read.

    """
    calls = live_calls(client, wanted, environment, command)
    app = LiveList(calls, await calls.look())
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, app.exit, INTERRUPTED)
    end_at_sigterm(partial(app.exit, TERMINATED))
    code = await app.run_async()
    return ExitCode.FAILED if code is None else code  # None: an error ended the view, and was printed
