"""IncidentRecord: one incident, open or ended, with its whole history, read from Temporal a few at a time."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property

from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from cli.incidents.state_queries import AT_ONCE, StateQueries
from cli.incidents.summary import IncidentSummary
from cli.incidents.visibility import Filter, ended_since, open_incidents
from cli.shared.ages import short
from cli.shared.connection import retention_of
from health.model.moves import Phase
from health.model.request_record import RequestRecord
from health.model.timeline import PhaseTime

REMEDIATION = (Phase.ACTING, Phase.REMEDIATING, Phase.EXHAUSTED)
"""The phases in which a step is taken, or was."""


@dataclass(frozen=True, kw_only=True)
class IncidentRecord:
    """One incident at `now`, with its requests and times."""

    summary: IncidentSummary
    now: datetime

    @property
    def began(self) -> datetime:
        """When its first run started, as far as that is known."""
        if self.summary.result is not None:
            return self.summary.result.started
        memory = self.summary.state.memory if self.summary.state else None
        began = memory.began if memory else None
        return began or self.summary.started

    @property
    def lasted(self) -> timedelta:
        return (self.summary.closed or self.now) - self.began

    @property
    def requests(self) -> tuple[RequestRecord, ...]:
        """The requests that it made or found."""
        if self.summary.result is not None:
            return self.summary.result.requests
        return self.summary.state.memory.records if self.summary.state else ()

    @cached_property
    def phases(self) -> tuple[PhaseTime, ...]:
        return self.summary.timeline.phases(self.summary.closed or self.now)

    def time_in(self, *phases: Phase) -> timedelta | None:
        """The time in these phases together; None if it does not say."""
        if not self.phases:
            return None
        return timedelta(seconds=sum(phase.seconds for phase in self.phases if phase.phase in phases))

    @property
    def ended_as(self) -> str:
        """Its outcome; the phase while it is open, else the status of its workflow."""
        if self.summary.is_open:
            return str(self.summary.phase or "open")
        return str(self.summary.outcome or self.summary.status)


@dataclass(frozen=True, kw_only=True)
class Kept:
    """Which ended incidents Temporal still has, and which of them were asked for."""

    namespace: str
    since: datetime
    """Incidents that ended earlier were not asked for."""
    retention: timedelta | None
    """None: unknown."""
    now: datetime

    @property
    def removed_before(self) -> datetime | None:
        """Incidents that ended earlier are removed; None: unknown."""
        return None if self.retention is None else self.now - self.retention

    @property
    def words(self) -> str:
        """Which incidents the list lacks, and why."""
        removed = self.removed_before
        if self.retention is None or removed is None:
            return f"the retention of the namespace {self.namespace} is unknown"
        if removed < self.since:
            return f"incidents that ended before {self.since:%Y-%m-%d %H:%MZ} are not listed, see --since"
        keeps = f"the namespace {self.namespace} keeps ended incidents for {short(self.retention)}"
        return f"{keeps}, so those that ended before {removed:%Y-%m-%d %H:%MZ} are removed"


async def kept(client: Client, since: timedelta) -> Kept:
    """The limits of a list of the incidents that ended within `since`.

    Raises:
        RPCError: Temporal cannot be asked.

    """
    now = datetime.now(UTC)
    try:
        retention = await retention_of(client)
    except RPCError as error:
        if error.status is not RPCStatusCode.PERMISSION_DENIED:
            raise
        retention = None
    return Kept(namespace=client.namespace, since=now - since, retention=retention, now=now)


async def past_incidents(
    client: Client, wanted: Filter, since: datetime, *, with_open: bool
) -> AsyncIterator[list[IncidentRecord]]:
    """The incidents that ended since then, oldest first, a few at a time; the open ones come last.

    Raises:
        RPCError: Temporal cannot be asked.

    """
    ended = sorted(await ended_since(client, wanted, since), key=lambda summary: summary.started)
    found = [*ended, *(await open_incidents(client, wanted) if with_open else [])]
    for first in range(0, len(found), AT_ONCE):
        yield await _read(client, found[first : first + AT_ONCE])


async def _read(client: Client, summaries: Sequence[IncidentSummary]) -> list[IncidentRecord]:
    queried = await StateQueries(client).all(summaries)
    return [IncidentRecord(summary=summary, now=datetime.now(UTC)) for summary in queried]
