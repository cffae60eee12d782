"""The screens above the table of the live view: one incident, the choice of an order, its confirmation."""

from typing import Any, ClassVar

from rich.console import RenderableType
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen, Screen
from textual.widgets import Footer, Input, OptionList, Static
from textual.widgets.option_list import Option

from health.model.order import LONGEST_REASON
from health.runbook.order_spec import OrderSpec


class IncidentScreen(Screen[None]):
    """The page of one incident, as `paramedic show` prints it."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape,q", "dismiss", "back")]

    def __init__(self, name: str, page: RenderableType) -> None:
        """Show `page` under the name of its incident."""
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
        """Offer the orders for the incident of this name."""
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
        """Return the chosen row of the table of orders."""
        self.dismiss(next(order for order in self._orders if order.name == event.option_id))


class Confirmation(ModalScreen[str | None]):
    """Asks for the reason of an order; Enter gives it, and Escape (None) does not."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "dismiss(None)", "do not order")]

    def __init__(self, name: str, spec: OrderSpec[Any]) -> None:
        """Confirm the order of this row for the incident of this name."""
        super().__init__()
        self._title = name
        self._spec = spec

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(Text(f"{self._spec.name} {self._title}?", style="bold"))
            yield Static(Text(_first_line(self._spec.help)))
            yield Input(placeholder="reason", max_length=LONGEST_REASON)
            yield Static(Text("Enter: give the order.  Escape: do not.", style="dim"))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Return the reason; a blank one is no reason."""
        self.dismiss(event.value.strip())


def _first_line(text: str) -> str:
    return text.partition("\n")[0]
