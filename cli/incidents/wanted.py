"""Reads the incidents that a person wants to see, each with its state or its outcome."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from temporalio.client import Client

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

    def shows(self, summary: IncidentSummary) -> bool:
        """True also if phase or shadow is unknown: leaving the incident out would be a false all-clear."""
        if self.phases and summary.phase not in {*self.phases, None}:
            return False
        return not self.is_shadow or summary.shadow is not None or bool(summary.problem)


@dataclass(frozen=True)
class IncidentList:
    """The listed incidents, as they were at one moment."""

    summaries: Sequence[IncidentSummary]
    has_more: bool
    """True if older incidents are left out."""
    now: datetime
    nothing: str = ""
    """For an empty list: the filter, and the known clusters; otherwise ""."""


async def look(client: Client, wanted: Wanted) -> IncidentList:
    """Read the wanted incidents.

    Raises:
        RPCError: Temporal cannot be queried.

    """
    found = [] if wanted.phases == {Phase.ENDED} else await open_incidents(client, wanted.filter)
    closed = await closed_incidents(client, wanted.filter, wanted.closed + 1) if wanted.closed else []
    queried = await StateQueries(client).all([*found, *closed[: wanted.closed]])
    shown = list(filter(wanted.shows, queried))
    nothing = "" if shown else await _nothing(client, wanted.filter)
    return IncidentList(shown, len(closed) > wanted.closed > 0, datetime.now(UTC), nothing)


async def _nothing(client: Client, wanted: Filter) -> str:
    unknown = await unknown_cluster(client, wanted.cluster)
    return f"{wanted.words}{f'; {unknown}' if unknown else ''}"
