"""`paramedic show`: prints all data of one incident: timers, requests by step, retries, and its history.

`order_lines` and `standing_lines` print the orders of people for `explain` and `check`, too.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Annotated
from urllib.parse import quote, urlsplit

import typer
from rich.table import Table

from cli.incidents.document import IncidentDocument, IncidentRequest, incident_document
from cli.incidents.names import NAME_HELP, find_any, incident_name, open_incident_names
from cli.incidents.state_queries import StateQueries
from cli.incidents.visibility import IncidentSummary
from cli.shared.ages import ago, beside_time, in_time
from cli.shared.connection import command_line, temporal
from cli.shared.errors import carry_out
from cli.shared.options import OutputFormat, PageOutput, of_cluster
from cli.shared.terminal import Line, console, labelled, labelled_lines, phase_text, print_json, print_trimmed
from health.model.details import beside
from health.model.moves import Phase
from health.model.order import Blocks, OrderRecord
from health.runbook.orders import ORDERS, REMEDIATE, ended_by

SHOWN = 12
"""The number of latest episodes that are shown."""

WITHOUT_ANSWER = "when a worker answers: see `paramedic doctor`; Temporal keeps orders until then"


def http_address(text: str) -> str:
    """Parse the address of the Temporal UI.

    Raises:
        BadParameter: it is not an HTTP URL.

    """
    try:
        parts = urlsplit(text)
    except ValueError as error:  # "[" without "]"
        raise typer.BadParameter(f"{text!r} is not an address: {error}") from error
    if parts.scheme not in ("http", "https") or not parts.hostname or any(map(str.isspace, text)):
        raise typer.BadParameter(f"{text!r} must be an address such as http://127.0.0.1:8233")
    return text


def ui_link(ui: str, namespace: str, summary: IncidentSummary) -> str:
    """The link to the workflow; `ui` is the address of the Temporal UI."""
    workflow = quote(summary.incident.workflow_id, safe="")
    return f"{ui.rstrip('/')}/namespaces/{quote(namespace)}/workflows/{workflow}/{summary.run_id}/history"


def show(  # noqa: PLR0913  typer reads one option a parameter
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(
            parser=incident_name, metavar="NAME", help=NAME_HELP, autocompletion=open_incident_names
        ),
    ],
    *,
    cluster: Annotated[str | None, of_cluster("Only of this cluster.")] = None,
    output: PageOutput = OutputFormat.TEXT,
    is_full: Annotated[
        bool, typer.Option("--full", help="Print all of the history, and not only its latest entries.")
    ] = False,
    ui: Annotated[
        str | None,
        typer.Option(
            "--ui",
            envvar="TEMPORAL_UI_URL",
            parser=http_address,
            metavar="URL",
            help="Address of the Temporal UI, for a link.",
        ),
    ] = None,
) -> None:
    """Show one incident: phase, timers, reasons, requests, history.

    It is the last one if none is open.
    """
    document = carry_out(_read(context, name, cluster, ui))
    if output is OutputFormat.JSON:
        print_json(document)
    else:
        print_trimmed(incident_page(document, is_full=is_full), console())


async def _read(context: typer.Context, name: str, cluster: str | None, ui: str | None) -> IncidentDocument:
    async with temporal(context) as client:
        summary = await StateQueries(client).one(await find_any(client, name, cluster))
        ui_url = ui_link(ui, client.namespace, summary) if ui else None
        now, command = datetime.now(UTC), command_line(context)
        return incident_document(summary, now, name=name, command=command, ui_url=ui_url)


def incident_page(document: IncidentDocument, *, is_full: bool = False) -> Table:
    """A table with a label and a value in each row; the full one has all of the history."""
    now = document.at
    lines: list[Line] = [
        ("Target", f"{document.target} (uid {document.target_uid})"),
        ("Check", str(document.check)),
        ("Cluster", document.cluster),
        ("Phase", phase_text(document.phase, is_held=document.is_held)),
        ("Details", document.words),
        ("Held since", ago(document.held_since, now) if document.held_since else None),
        ("Ordered", _ordered(document)),
        ("Started", ago(document.started_at, now)),
        ("Ended", ago(document.closed_at, now) if document.closed_at else None),
        ("Repeated", document.repetition),
        ("Relapse", document.relapse),
        ("Failure", document.failure.words if document.failure else None),
        *order_lines(document.standing or (), document.orders or (), now),
        ("Recovery", document.recovery),
        ("Lease", _lease(document)),
        ("Goes on", _goes_on(document)),
        *_retries(document),
        *_requests(document),
        *labelled("You can", (order.line for order in document.possible_orders)),
        ("Detector", _answer(document)),
        ("Evidence", _evidence(document)),
        *labelled("History", _history(document, is_full=is_full)),
        ("Workflow", document.workflow_id),
        ("Temporal UI", document.ui_url),
        *labelled("Kubernetes", document.kubectl),
    ]
    return labelled_lines(lines)


def _ordered(document: IncidentDocument) -> str | None:
    """The order on the target that began the incident, also once it is over."""
    ordered = [order for order in document.orders or () if order.order == REMEDIATE]
    if not ordered:
        return None
    order = ordered[-1]
    by = f" by {order.identity}" if order.identity else ""
    forced = " with --force" if order.is_forced else ""
    until = f", until {order.until:%Y-%m-%d %H:%M:%SZ}" if order.until else ""
    return f"{ago(order.given, document.at)}{by}{forced}{until}: {order.reason}"


def _lease(document: IncidentDocument) -> str | None:
    renew_at, end, now = document.lease_renewed_at, document.lease_expires_at, document.at
    if renew_at is None or end is None:
        return None
    if document.phase in (Phase.EXHAUSTED, Phase.CLEANING_UP):
        lease = f"runs out {in_time(end, now)}" if end > now else f"ran out {ago(end, now)}"
    elif renew_at > now:
        lease = f"is renewed {in_time(renew_at, now)}"
    else:
        lease = f"was to be renewed {ago(renew_at, now)}"  # its renewals fail
    released = document.lease_released_at
    overdue = f"; is released {in_time(released, now)}, when the remediation is overdue" if released else ""
    return f"{lease}{overdue}"


def _goes_on(document: IncidentDocument) -> str | None:
    if not document.is_open:
        return None
    if document.phase is None:
        return WITHOUT_ANSWER
    if document.goes_on_with is None:
        return "when the detector has answered"
    at = document.goes_on_at
    return f"{in_time(at, document.at)}: {document.goes_on_with}" if at else document.goes_on_with


def _retries(document: IncidentDocument) -> Iterator[Line]:
    for retry in document.retries or ():
        row = f"failed {retry.failures} times since" if retry.failures > 1 else "failed"
        again = f"tried again {in_time(retry.next_try_at, document.at)}"
        yield "Retrying", f"{retry.what}: {retry.why}; {row} {ago(retry.since, document.at)}, {again}"


def _requests(document: IncidentDocument) -> Iterator[Line]:
    for request in document.requests or ():
        yield "Request", f"{request.words} ({request.api_version})"
        place = f"step {request.step} of {request.steps}" if request.step else ""
        template = f"template {request.template}" if request.template else ""
        created = f"created {ago(request.created_at, document.at)}"
        yield "", ", ".join(filter(None, (place, template, created, _until(request, document.at))))
    if document.is_open and document.requests == ():
        yield "Request", "none"


def _until(request: IncidentRequest, now: datetime) -> str:
    """When the request times out or did; "" if it has succeeded, failed, or is being deleted."""
    if request.timed_out_at is not None:
        ended = "skipped" if request.is_skipped else "timed out"
        return f"{ended} {ago(request.timed_out_at, now)}"
    if request.is_skipped:
        return "skipped"
    if request.succeeded is not None or request.is_being_deleted:
        return ""
    if request.times_out_at is None:
        return "no time limit" if request.step else ""
    return f"times out {in_time(request.times_out_at, now)}"


def _answer(document: IncidentDocument) -> str | None:
    observation = document.observation
    if observation is None:
        is_asked = document.is_open and document.phase is not None
        return "is being asked, and has not answered yet" if is_asked else None
    held = None if observation.may_be_admitted else observation.hold
    verdict = f"held: {held}" if held else "admitted" if observation.is_admitted else "no hold"
    answer = f"{observation.state}: {beside(str(document.target), observation.reason)}; {verdict}"
    when = observation.answered_at
    return answer if when is None else f"{ago(when, document.at)}: {beside_time(answer, when)}"


def _evidence(document: IncidentDocument) -> str | None:
    if document.evidence is None:
        return None
    taken = f", taken {ago(document.evidence.at, document.at)}" if document.evidence.is_saved else ""
    return f"{document.evidence.words}{taken}"


def _history(document: IncidentDocument, *, is_full: bool) -> Iterator[str]:
    entries, left_out = document.history or (), document.history_left_out or 0
    shown = entries if is_full else entries[-SHOWN:]
    earlier = len(entries) - len(shown)
    if earlier or left_out:
        more = f"; {left_out} of them are not kept" if left_out else ""
        since = f" since {entries[0].at:%Y-%m-%d %H:%M:%SZ}"
        yield f"({earlier + left_out} earlier{since}{', see --full' if earlier else ''}{more})"
    for entry in shown:
        times = f" (x{entry.times})" if entry.times > 1 else ""
        who = f" by {entry.who}" if entry.who else ""
        words = beside_time(entry.what, entry.at)
        yield f"{entry.at:%Y-%m-%d %H:%M:%SZ}  {entry.phase}{times}{who}: {words}"


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
