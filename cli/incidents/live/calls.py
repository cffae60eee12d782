"""The calls of the live view to Temporal; each may raise RPCError or CommandError."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from temporalio.client import Client

from cli.incidents.orders import GivenOrder, give
from cli.incidents.page import IncidentPage
from cli.incidents.show import read_page
from cli.incidents.summary import IncidentSummary
from cli.incidents.wanted import IncidentList, Wanted, look
from cli.shared.connection import identity_of
from health.runbook.orders import OrderSpec


@dataclass(frozen=True, kw_only=True)
class LiveCalls:
    """The reads of the live view, and its way to give an order."""

    look: Callable[[], Awaitable[IncidentList]]
    page: Callable[[IncidentSummary], Awaitable[IncidentPage]]
    order: Callable[[IncidentSummary, OrderSpec[Any], str], Awaitable[str]]
    """Gives an order with a reason to an incident, and returns the answer."""


def live_calls(client: Client, wanted: Wanted, environment: Mapping[str, str], command: str) -> LiveCalls:
    """The calls by a client; `command` begins the command lines that a page proposes."""

    async def page(summary: IncidentSummary) -> IncidentPage:
        return await read_page(client, summary, name=short_name(summary), command=command)

    async def order(summary: IncidentSummary, spec: OrderSpec[Any], reason: str) -> str:
        message = spec.message(reason=reason, identity=identity_of(environment))
        return await give(client, summary, GivenOrder(message, summary.incident.cluster))

    return LiveCalls(look=lambda: look(client, wanted), page=page, order=order)


def short_name(summary: IncidentSummary) -> str:
    """The names of check and target, as a person types them."""
    return f"{summary.incident.check.name}/{summary.incident.target.name}"
