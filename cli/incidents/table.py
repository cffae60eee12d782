"""Reads the incidents that a person wants to see, and formats them as a table fitted to the terminal.

Each is one line; `wide` adds columns. A cut number or phase is useless, so only names and details shrink,
down to a minimum that still distinguishes them. If that is not enough, columns are dropped: AGE first, then
CLAIM, HELD, DETAILS (see `paramedic show`), CHECK and NEXT. Spare width goes to the names first, then to the
details, then to CLAIM.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from rich.table import Table
from rich.text import Text
from temporalio.client import Client

from cli.incidents.document import IncidentDocument, incident_document
from cli.incidents.state_queries import NO_WORKER, StateQueries
from cli.incidents.visibility import Filter, IncidentSummary, closed_incidents, open_incidents
from cli.shared.ages import short, with_short_times
from cli.shared.known_clusters import unknown_cluster
from cli.shared.terminal import GAP, phase_text, plain
from health.model.moves import Phase


@dataclass(frozen=True)
class Wanted:
    """Selects the incidents to list, by filter, phase and shadow."""

    filter: Filter
    phases: frozenset[Phase]
    """The wanted phases; empty means all."""
    closed: int
    """The most closed incidents to list."""
    is_shadow: bool = False
    """True to list only incidents that are, or were, in shadow."""

    def shows(self, document: IncidentDocument) -> bool:
        """True also if phase or shadow is unknown: leaving the incident out would be a false all-clear."""
        if self.phases and document.phase not in {*self.phases, None}:
            return False
        return not self.is_shadow or document.shadow is not None or document.problem is not None


@dataclass(frozen=True, kw_only=True)
class IncidentList:
    """The listed incidents, as they were at one moment."""

    documents: Sequence[IncidentDocument]
    has_more: bool
    """True if older incidents are left out."""
    now: datetime
    nothing: str | None = None
    """For an empty list: the filter, and the known clusters; otherwise None."""
    summaries: Mapping[str, IncidentSummary] = field(default_factory=dict)
    """By run id: the listed workflows, for further questions and orders to them."""


async def look(client: Client, wanted: Wanted, command: str) -> IncidentList:
    """Read the wanted incidents; `command` begins the command lines that their documents propose.

    Raises:
        RPCError: Temporal cannot be queried.

    """
    found = [] if wanted.phases == {Phase.ENDED} else await open_incidents(client, wanted.filter)
    closed = await closed_incidents(client, wanted.filter, wanted.closed + 1) if wanted.closed else []
    queried = await StateQueries(client).all([*found, *closed[: wanted.closed]])
    now = datetime.now(UTC)
    documents = [incident_document(summary, now, command=command) for summary in queried]
    shown, nothing = list(filter(wanted.shows, documents)), None
    if not shown:
        unknown = await unknown_cluster(client, wanted.filter.cluster)
        nothing = f"{wanted.filter.words}{f'; {unknown}' if unknown else ''}"
    return IncidentList(
        documents=shown,
        has_more=len(closed) > wanted.closed > 0,
        now=now,
        nothing=nothing,
        summaries={summary.run_id: summary for summary in queried},
    )


_LEAST = {"CLUSTER": 8, "TARGET": 16, "CHECK": 10, "CLAIM": 7, "DETAILS": 24}
_LEFT_OUT = ("AGE", "CLAIM", "HELD", "DETAILS", "CHECK", "NEXT")
_GROW = ("TARGET", "CHECK", "CLUSTER", "DETAILS", "CLAIM")
_CUT = ("CLUSTER", "TARGET", "CHECK", "CLAIM", "DETAILS")
"""The columns that may be cut on a narrow terminal."""


def column_widths(natural: Mapping[str, int], room: int) -> dict[str, int]:
    """The columns that fit, each with its width; `natural` holds the widths without any cut."""
    for count in range(len(_LEFT_OUT) + 1):  # all columns, then ever fewer of them
        shown = [name for name in natural if name not in _LEFT_OUT[:count]]
        widths = {name: min(natural[name], _LEAST.get(name, natural[name])) for name in shown}
        spare = room - sum(widths.values()) - GAP * (len(widths) - 1)
        if spare >= 0:
            break
    for name in (name for name in _GROW if name in widths):
        more = min(max(0, spare), natural[name] - widths[name])
        widths[name], spare = widths[name] + more, spare - more
    return widths


def fitted(rows: Sequence[Mapping[str, Text]], width: int) -> tuple[dict[str, int], list[list[Text]]]:
    """The columns that fit, each with its width, and the cells of each row in these columns."""
    names = list(rows[0]) if rows else []
    natural = {name: max(len(name), *(row[name].cell_len for row in rows)) for name in names}
    widths = column_widths(natural, width)
    return widths, [[row[name] for name in widths] for row in rows]


def fitted_table(rows: Sequence[Mapping[str, Text]], width: int) -> Table:
    """The rows, each with the same columns, as a table of rich."""
    widths, cells = fitted(rows, width)
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    for name, wide in widths.items():
        table.add_column(name, no_wrap=True, overflow="ellipsis" if name in _CUT else "crop", width=wide)
    for row in cells:
        table.add_row(*row)
    return table


def in_order(documents: Iterable[IncidentDocument]) -> list[IncidentDocument]:
    """By cluster, check and natural order of names (node-2 before node-10), newest incident first."""

    def key(document: IncidentDocument) -> tuple[object, ...]:
        # Numbers by value, before words; a digit such as "²" counts as a word.
        split = re.split(r"(\d+)", document.target.name)
        parts = [(int(part), "") if part.isdecimal() else (-1, part) for part in split]
        return document.cluster, str(document.check), parts, -document.started_at.timestamp()

    return sorted(documents, key=key)


def incident_rows(documents: Sequence[IncidentDocument], *, is_wide: bool) -> list[dict[str, Text]]:
    """A row for each; CLUSTER is a column if there are several, HELD and CLAIM if an incident has them."""
    left_out = set() if is_wide else {"REQUESTS", "WORKFLOW"}
    if not is_wide and len({document.cluster for document in documents}) == 1:
        left_out.add("CLUSTER")
    if not is_wide and not any(document.held_since for document in documents):
        left_out.add("HELD")
    if not is_wide and not any(document.claim for document in documents):
        left_out.add("CLAIM")
    rows = (_row(document, is_wide=is_wide) for document in documents)
    return [{name: cell for name, cell in row.items() if name not in left_out} for row in rows]


def headline(documents: Sequence[IncidentDocument]) -> str:
    """The number of incidents by phase, "3 incidents: 2 Held, 1 unknown", and clusters that are stopped."""
    counted = Counter(document.phase for document in documents)
    phases = dict.fromkeys((*Phase, *filter(None, counted), None))
    parts = ", ".join(f"{counted[phase]} {phase or 'unknown'}" for phase in phases if counted[phase])
    stopped = dict.fromkeys(
        f"; {document.cluster} is {' '.join(document.stopped.split())}"
        for document in documents
        if document.stopped
    )
    silent = sum(document.problem == NO_WORKER for document in documents)
    advice = f"; {silent} did not answer: see `paramedic doctor`" if silent else ""
    counts = f"{len(documents)} incident{'' if len(documents) == 1 else 's'}: {parts}"
    return f"{counts}{''.join(stopped)}{advice}"


def _row(document: IncidentDocument, *, is_wide: bool) -> dict[str, Text]:
    now = document.at
    details = " ".join((document.brief or document.words).split())
    next_ = None if document.goes_on_at is None else max(timedelta(), document.goes_on_at - now)
    return {
        "CLUSTER": Text(document.cluster),
        "TARGET": Text(document.target.name),
        "CHECK": Text(document.check.name),
        "PHASE": phase_text(document.phase, is_held=document.is_held),
        "HELD": Text("-" if document.held_since is None else short(now - document.held_since)),
        "AGE": Text(short(now - document.started_at)),
        "NEXT": Text("-" if next_ is None else short(next_)),
        "CLAIM": Text(_claim(document)),
        "REQUESTS": Text(", ".join(request.words for request in document.requests or ()) or "-"),
        "WORKFLOW": Text(document.workflow_id),
        "DETAILS": Text(details if is_wide else with_short_times(details, now)),
    }


def _claim(document: IncidentDocument) -> str:
    """The user of the claim, without the host, or "kubectl" for an annotation; "-" without a claim."""
    if document.claim is None:
        return "-"
    user, _, _ = plain(document.claim.identity).partition("@")
    return next(iter(user.split()), "yes")
