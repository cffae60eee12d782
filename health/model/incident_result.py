"""IncidentResult: the result of an incident, as its workflow returns it to the Temporal UI. Pure.

It has the records that the incident kept in its memory: of each request from creation to deletion, of the
steps that it would have taken in shadow, and of the steps taken for a failure that comes back.

`Timeline` is what happened in the incident, as the incident itself remembers it. It is bounded, because an
incident may last for months. Equal neighbours are one entry, and entries after the first ones are left out,
the oldest first. The time in each phase is summed apart, so it is exact whatever is left out.
"""

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from typing import Self

from health.model.evidence import EvidenceRecord
from health.model.moves import Outcome, Phase
from health.model.order import OrderRecord
from health.model.references import NO_TEMPLATE, Action, TemplateReference
from health.model.remediation_order import RemediationOrder
from health.model.request_snapshot import RequestSnapshot
from objects.frozen import Frozen, OpenEnum
from objects.short_text import PersonText, ShortText

MOST_ENTRIES = 60
MOST_BYTES = 8 * 1024
"""Bytes of the JSON of all entries."""
FIRST_KEPT = 10
"""How an incident began is kept, whatever follows."""


class TimelineEntry(Frozen):
    """One entry, which occurred `times` times in a row."""

    at: datetime
    phase: OpenEnum[Phase]
    what: ShortText
    """The event in words, with its reason."""
    who: PersonText | None = None
    """The person who ordered it; None: no person did."""
    times: int = 1

    @property
    def size(self) -> int:
        """Bytes of its JSON; `MOST_BYTES` bounds the sum of all entries."""
        return len(self.model_dump_json().encode())

    def is_like(self, other: "TimelineEntry") -> bool:
        return (self.phase, self.what, self.who) == (other.phase, other.what, other.who)


class PhaseTime(Frozen):
    """A phase, with the sum of the times that an incident was in it."""

    phase: OpenEnum[Phase]
    seconds: float


class Timeline(Frozen):
    """The entries of one incident, oldest first, and its time in each phase."""

    entries: tuple[TimelineEntry, ...] = ()
    left_out: int = 0
    """The number of entries that were left out after the first ones."""
    phase: OpenEnum[Phase] | None = None
    """The present phase; None: nothing happened yet."""
    since: datetime | None = None
    """When the present phase began."""
    past: tuple[PhaseTime, ...] = ()
    """The time in phases that have ended, in the order in which they first began."""

    def noting(self, entry: TimelineEntry, began: datetime) -> Self:
        """The same with one more entry, merged with an equal one before it.

        The first phase began with the incident, at `began`.
        """
        entries, left_out = [*self.entries, entry], self.left_out
        if self.entries and self.entries[-1].is_like(entry):
            latest = self.entries[-1]
            entries[-2:] = [latest.model_copy(update={"times": latest.times + entry.times})]
        while len(entries) > MOST_ENTRIES or sum(entry.size for entry in entries) > MOST_BYTES:
            del entries[min(FIRST_KEPT, len(entries) - 2)]
            left_out += 1
        changes: dict[str, object] = {"entries": tuple(entries), "left_out": left_out}
        if entry.phase != self.phase:
            since = began if self.phase is None else entry.at
            changes |= {"past": self.phases(entry.at), "phase": entry.phase, "since": since}
        return self.model_copy(update=changes)

    def phases(self, until: datetime) -> tuple[PhaseTime, ...]:
        """The time in each phase until then, in the order in which the phases first began."""
        if self.phase in (None, Phase.ENDED) or self.since is None:
            return self.past
        sums = {entry.phase: entry.seconds for entry in self.past}
        lasted = max(timedelta(), until - self.since).total_seconds()
        sums[self.phase] = sums.get(self.phase, 0.0) + lasted
        return tuple(PhaseTime(phase=phase, seconds=seconds) for phase, seconds in sums.items())


MOST_RECORDS = 50
"""Only the latest requests and orders are kept, because an incident may last for months."""


class RequestRecord(Frozen):
    """A request that the incident made or found."""

    request: str
    """Kind, namespace and name."""
    uid: str
    template: str
    """The name of its template; "" if the request does not say."""
    started: datetime
    """When the request was created."""
    ended: datetime | None = None
    """When the incident found it gone; None while it exists."""


def recorded(
    records: Iterable[RequestRecord],
    requests: Iterable[RequestSnapshot],
    known: Collection[str],
    now: datetime,
) -> tuple[RequestRecord, ...]:
    """The records after a look that shows `requests`; a request neither shown nor `known` is gone."""
    shown = {request.uid: request for request in requests}
    before = [
        record
        if record.ended or record.uid in shown or record.uid in known
        else record.model_copy(update={"ended": now})
        for record in records
    ]
    old = {record.uid for record in before}
    new = [
        RequestRecord(
            request=str(request.reference),
            uid=request.uid,
            template=request.reference.template,
            started=request.created,
        )
        for uid, request in shown.items()
        if uid not in old
    ]
    return tuple([*before, *new][-MOST_RECORDS:])


def ended(records: Iterable[RequestRecord], now: datetime) -> tuple[RequestRecord, ...]:
    return recorded(records, (), (), now)


class ShadowStep(Frozen):
    """A step that an incident in shadow would have taken."""

    number: int
    """Starts at 1."""
    action: OpenEnum[Action] = Action.REQUEST
    template: TemplateReference = NO_TEMPLATE
    """The template of a step that would have made a request."""
    at: datetime
    why: str
    """The condition of the target at that time."""

    def __str__(self) -> str:
        if self.action is Action.REQUEST:
            return f"{self.template.request_kind} from {self.template.name}"
        return self.action.lower()


class ShadowRecord(Frozen):
    """The shadow part of an incident's memory, kept across runs."""

    steps: tuple[ShadowStep, ...] = ()
    """In the order in which the incident would have taken them."""
    spent: int = 0
    """How many of them belong to an earlier shadow, or to an escalation before a person restarted it."""
    others: tuple[RequestRecord, ...] = ()
    """What others did to the target: each request, deletion or mark, with its start and end."""

    @property
    def current(self) -> tuple[ShadowStep, ...]:
        """The recorded steps that count as taken now."""
        return self.steps[self.spent :]


IN_A_ROW = timedelta(hours=1)
"""Remediations are in a row while each failure begins within this time after the remediation before it."""
SAID_FROM = 3
"""From how many remediations in a row a repetition is said."""


class EndedRemediation(Frozen):
    """The latest remediation of a target by its check, which has ended."""

    ended: datetime
    taken: tuple[TemplateReference, ...]
    """The templates of its steps; after a relapse, also those of the remediations before it."""
    in_a_row: int = 0
    """How many remediations in a row took these first steps of more, and no other ones; 0: it took others."""
    came_back: datetime | None = None
    """When the failure began that lasts since; another condition meanwhile begins no other failure."""

    def is_within(self, limit: timedelta) -> bool:
        """True if the failure that came back began no later than `limit` after the end."""
        return self.came_back is not None and self.came_back - self.ended <= limit

    @property
    def repetition(self) -> str:
        """How often in a row its first steps alone were taken, in words; "": seldom."""
        return repeated(self.in_a_row, len(self.taken)) if self.in_a_row >= SAID_FROM else ""


def repeated(times: int, steps: int) -> str:
    """The words for so many first steps that were taken alone so often, with the annotation that helps."""
    what, them = ("step 1 was", "it") if steps == 1 else (f"steps 1 to {steps} were", "them")
    return (
        f"{what} taken {times} times in a row; the steps after {them} are not reached "
        "(the annotation paramedic.dev/relapse on the check makes a failure go on with the next step)"
    )


class IncidentResult(Frozen):
    """How an incident ended, with its times, requests and orders."""

    outcome: Outcome
    reason: str
    """Why it ended, in words."""
    started: datetime
    """When the first run of the workflow started."""
    ended: datetime
    failed: datetime | None = None
    """When the condition began that the incident is about; None: it saw none."""
    recovered: datetime | None = None
    """When it saw the target healthy again, or replaced; None: neither."""
    attempts: int = 0
    """The number of the latest remediation in a row of the target; 0: nothing was done."""
    deleted: datetime | None = None
    """When the target was deleted, if a step deleted it."""
    requests: tuple[RequestRecord, ...] = ()
    remediation: EndedRemediation | None = None
    """The latest remediation of the target by this check, also if an earlier incident made it (rule 64)."""
    ordered: RemediationOrder | None = None
    """The order of a person that it carried out; None: it was automated, for a failure of its target."""
    orders: tuple[OrderRecord, ...] = ()
    shadow: ShadowRecord | None = None
    """The steps that it would have taken in shadow, and what others did; None: never in shadow."""
    timeline: Timeline = Timeline()
    """Its events in order, and the time in each phase."""
    evidence: EvidenceRecord | None = None
    """Where the state before the first step is saved, or why not; None: the check wants no evidence."""
