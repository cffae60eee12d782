"""Reads past incidents from Temporal, a few at a time, each with the history of all its runs."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from cli.incidents.past.incident_record import IncidentRecord
from cli.incidents.state_queries import AT_ONCE, StateQueries
from cli.incidents.story import Story, read_story, with_refusals
from cli.incidents.summary import IncidentSummary
from cli.incidents.visibility import Filter, ended_since, open_incidents
from cli.shared.ages import short
from cli.shared.retention import retention_of
from cli.shared.terminal import error_sentence

_NO_STORY = Story(episodes=())


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
    ended = sorted(await ended_since(client, wanted, since), key=lambda one: one.started)
    found = [*ended, *(await open_incidents(client, wanted) if with_open else [])]
    for first in range(0, len(found), AT_ONCE):
        yield await _read(client, found[first : first + AT_ONCE])


async def _read(client: Client, summaries: Sequence[IncidentSummary]) -> list[IncidentRecord]:
    queried = await StateQueries(client).all(summaries)
    return [await _one(client, summary) for summary in queried]


async def _one(client: Client, summary: IncidentSummary) -> IncidentRecord:
    """One incident; a history that cannot be read stops no other one."""
    unreadable, story = "", _NO_STORY
    try:
        story = await read_story(client, summary.incident.workflow_id, summary.run_id)
    except RPCError as error:
        unreadable = f"its history cannot be read: {error_sentence(error)}"
    return IncidentRecord(
        summary=summary,
        story=tuple(with_refusals(story.episodes, summary.orders)),
        now=datetime.now(UTC),
        lacks_beginning=story.lacks_beginning,
        unreadable=unreadable,
    )
