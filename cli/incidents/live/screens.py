"""The screens above the table of the live view: one incident, the choice of an order, its confirmation."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar

import typer
from rich.console import RenderableType
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen, Screen
from textual.widgets import Footer, Input, OptionList, Static
from textual.widgets.option_list import Option

from cli.shared.options import parse_time
from health.model.order import LONGEST_REASON, StandingOrder
from health.runbook.orders import OrderSpec

INTERRUPTED = 130


class IncidentScreen(Screen[None]):
    """The page of one incident, as `paramedic show` prints it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,q", "dismiss", "back"),
        Binding("ctrl+c", f"app.leave({INTERRUPTED})", "quit", priority=True),
    ]

    def __init__(self, name: str, page: RenderableType) -> None:
        super().__init__()
        self._title = name
        self._page = page

    def compose(self) -> ComposeResult:
        yield Static(Text(self._title, style="bold"), id="headline")
        yield VerticalScroll(Static(self._page))
        yield Footer()


class OrderChoice(ModalScreen[OrderSpec[Any] | None]):
    """The orders that have an effect on one incident now; None: the person chose none."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape,q", "dismiss(None)", "back")]

    def __init__(self, name: str, orders: list[OrderSpec[Any]]) -> None:
        super().__init__()
        self._title = name
        self._orders = orders

    def compose(self) -> ComposeResult:
        options = (
            Option(Text(f"{order.name:10} {_first_line(order.help)}"), order.name) for order in self._orders
        )
        with Vertical(classes="dialog"):
            yield Static(Text(f"Order for {self._title} (Enter: choose, Escape: none)", style="bold"))
            yield OptionList(*options)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(next(order for order in self._orders if order.name == event.option_id))


@dataclass(frozen=True)
class OrderDetails:
    """The parts of an order that a person types."""

    reason: str
    duration: timedelta | None
    """How long it stands; None: until another order ends it, or it does not stand."""


class Confirmation(ModalScreen[OrderDetails | None]):
    """Asks for the reason of an order and for its time; Enter gives it, and Escape (None) does not."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "dismiss(None)", "do not order")]

    def __init__(self, name: str, spec: OrderSpec[Any], state: str) -> None:
        """Confirm the order of this row for the incident of this name, whose state is given in words."""
        super().__init__()
        self._title = name
        self._spec = spec
        self._state = state

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(Text(f"{self._spec.name} {self._title}?", style="bold"))
            yield Static(Text(self._state), id="state")
            yield Static(Text(_first_line(self._spec.help)))
            yield Input(placeholder="reason", max_length=LONGEST_REASON, id="reason")
            if issubclass(self._spec.message, StandingOrder):
                yield Input(placeholder="for, such as 2h; empty: without an end", max_length=20, id="for")
            yield Static(Text("Enter: give the order.  Tab: next field.  Escape: do not.", style="dim"))
            yield Static(id="wrong")

    def on_input_submitted(self) -> None:
        """Return the typed parts; a blank reason is none."""
        typed = "".join(field.value for field in self.query("#for").results(Input)).strip()
        try:
            duration = parse_time(typed) if typed else None
        except typer.BadParameter as error:
            self.query_one("#wrong", Static).update(Text(f"for: {error.message}", style="bold red"))
            return
        self.dismiss(OrderDetails(self.query_one("#reason", Input).value.strip(), duration))


def _first_line(text: str) -> str:
    return text.partition("\n")[0]
