"""The orders of people to an incident, in lines for `show`, `explain` and `check`. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from cli.shared.ages import ago, in_time
from health.model.order import Blocks, OrderRecord
from health.runbook.orders import ORDERS, ended_by


def order_lines(
    standing: Iterable[OrderRecord], orders: Sequence[OrderRecord], now: datetime
) -> Iterator[tuple[str, str]]:
    """Each standing order, and each order that waits or whose latest one was refused, with its label."""
    yield from standing_lines(standing, now)
    latest = {order.order: order for order in orders}
    for order in orders:
        if order.is_pending or (order is latest[order.order] and order.refused):
            decision = f"refused, {order.refused}" if order.refused else "waits for the detector"
            yield "Order", f"{order.words}; {decision}"


def standing_lines(standing: Iterable[OrderRecord], now: datetime) -> Iterator[tuple[str, str]]:
    """Each of these orders with its label."""
    for order in standing:
        spec = ORDERS.get(order.order)
        yield (spec and spec.label) or order.order, order_words(order, now)


LATER = "a later failure is remediated as usual"
"""The reach of an abort: its incident ends with the recovery, and a later one has no order."""


def order_words(order: OrderRecord, now: datetime) -> str:
    """The reason of a standing order, its person, its times, and for an abort its reach."""
    by = f"by {order.identity}" if order.identity else ""
    until = f"until {ended_by(order)}{' or its recovery' if order.blocks else ''}"
    ends = f"ends {in_time(order.until, now)}" if order.until else until
    later = LATER if order.blocks == Blocks.REMEDIATION else ""
    return "; ".join(filter(None, (order.reason, by, f"since {ago(order.given, now)}", ends, later)))
