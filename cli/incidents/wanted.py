"""Reads the incidents that a person wants to see, each with its state or its outcome."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from temporalio.client import Client

from cli.incidents.document import IncidentDocument, incident_document
from cli.incidents.state_queries import StateQueries
from cli.incidents.summary import IncidentSummary
from cli.incidents.visibility import Filter, closed_incidents, open_incidents
from cli.shared.known_clusters import unknown_cluster
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
    nothing: str = ""
    """For an empty list: the filter, and the known clusters; otherwise ""."""
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
    shown, nothing = list(filter(wanted.shows, documents)), ""
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
