"""RemediationLimits: counts what the leader has admitted, and refuses remediations above a limit.

Remediations under way are read from the cluster state. A recent admission is not visible there yet: it is
reserved until it is, or until the state is proven to be younger than anything that the admission can have
caused. No other process admits, so the limits hold at every moment. A new leader cannot see the reservations
of the previous one, so it admits nothing until they have expired.

A target waits in the queue (`admission_queue.py`) until it has a reservation, which it keeps. The cost of an
answer does not depend on the number of targets that wait or are under way: each change counts up or down
(`remediation_records.py`).
"""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

from temporalio.service import RPCError

from detector.dispatching.incident_calls import IncidentCalls, read_ended
from detector.limits.admission_queue import AdmissionQueue, QueueEntry
from detector.limits.in_flight import InFlight, Remediated
from detector.limits.limit_scopes import LimitScopes
from detector.limits.remediation_records import LIVES, Proves, RemediationRecords, Reserved
from detector.state.cluster_state import ClusterState
from detector.state.request_index import SeenRequest
from health.gate.admission import answered
from health.model.admission import Admission, Intent
from health.model.observation import NO_ADMISSION, Hold, Observation, TargetState
from health.model.references import CheckReference, IncidentReference
from health.model.target import Target
from health.policy.limit_usage import SlotChange
from health.policy.limits import (
    HOUR,
    LimitedRemediation,
    LimitScope,
    ScopesOf,
    StuckSlots,
    Waiting,
    labels_for,
    limit_hold,
    stuck_slots,
)
from health.policy.policy import CurrentPolicy
from health.runbook.wake_up import has_remediator_at_work
from kube.time_slice import TimeSlice
from runtime.problems import Problems

LOOK_AGAIN_SECONDS = 1.0
UNREAD_ASK_AGAIN_SECONDS = 10.0
UNQUEUED_ASK_AGAIN_SECONDS = 60.0
LEADS_ON = timedelta(seconds=40)
"""How long after its last renewal a leader may admit: for 10 s, by a clock that may be 30 s off."""
NO_WAIT = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class LimitQuestion:
    """The question for an incident that nothing holds, or only back-off."""

    incident: IncidentReference
    target: Target
    since: datetime
    """When the target became unhealthy."""
    due: datetime
    """When only limits hold it."""
    may_skip_its_wait: bool = False
    """True if a person may end its back-off and have it act earlier."""


class RemediationLimits:
    """The limits of one cluster, as the policy and annotations of checks choose."""

    def __init__(
        self, cluster_state: ClusterState, policy: CurrentPolicy, proves: Proves, now: Callable[[], datetime]
    ) -> None:
        self._cluster_state = cluster_state
        self._policy = policy
        self._now = now
        self._scopes = LimitScopes(cluster_state, policy)
        self._queue = AdmissionQueue(cluster_state)
        self._records = RemediationRecords(cluster_state, self._scopes, proves, self._slots_changed)
        self._in_flight = InFlight(cluster_state, self._began, self._records.ended)
        self._known_from = now()
        """When this process became the leader: it knows every later admission."""
        self._are_ended_known = False

    def lead_begins(self, led_until: datetime | None) -> None:
        """Forget reservations: another leader may have admitted, until shortly after its last renewal.

        `led_until` is that renewal, by its own clock; None: no other detector has led.
        """
        now = self._now()
        self._known_from = NO_WAIT if led_until is None else min(now, led_until + LEADS_ON)
        self._queue.empty()
        self._records.forget_reservations()
        self._are_ended_known = False

    async def lead(self) -> None:
        """Notify the incidents whose turn it is, in pieces, until cancelled."""
        while True:
            with self._cluster_state.guard.item("limits", "admission queue"):
                piece = TimeSlice()
                for incident in self.turns():
                    self._cluster_state.event_handlers.notify_change(incident.check, incident.target.name)
                    await piece.yield_if_over()
            await asyncio.sleep(LOOK_AGAIN_SECONDS)

    async def read_ended(self, calls: IncidentCalls, problems: Problems) -> None:
        """Read the remediations that ended within the last hour, once a limit of starts is chosen.

        Remediations under way show when they began, and later starts are seen in the watch. So ended ones are
        read after becoming the leader, and once more when visibility must list all of them.
        """

        async def read() -> None:
            for end in await calls.ended(self.horizon):
                if end.incident is not None:
                    self.note_ended(Remediated.of(end.incident), end.attempt.ended)
            self.complete()

        while True:
            if self.needs_ended:
                await read_ended(read, (RPCError,), problems)
            await asyncio.sleep(LOOK_AGAIN_SECONDS)

    @property
    def needs_ended(self) -> bool:
        """True if ended remediations matter for a limit, and were not read yet."""
        return not self._are_ended_known and self._scopes.limit_starts

    @property
    def horizon(self) -> datetime:
        """Starts before this time do not matter any more."""
        return self._now() - HOUR

    def note_ended(self, remediated: Remediated, ended: datetime) -> None:
        """Note an ended remediation; a start that was seen is not counted twice."""
        self._records.note_ended(remediated, ended)

    def turns(self) -> Iterator[IncidentReference]:
        """The incidents that may begin now, each once in its turn."""
        now = self._now()
        self._take_in_policy()
        self._in_flight.look_again()
        self._records.forget(now, self.horizon)  # also without limits: the records would grow forever
        if self._scopes.are_off or self._unknown(now) is not None:
            return
        self._select_if_due(now)
        yield from self._queue.notify(now)

    def complete(self) -> None:
        """Note that all ended remediations were read."""
        self._are_ended_known = True

    def changed(self, check: CheckReference, target: str | None) -> None:
        """Update counts and queue; called before handlers that answer incidents."""
        if self._scopes.take_in_check(check):
            self._limit_otherwise(check)
        self._in_flight.changed(check, target)
        if target is not None:
            self._queue.changed(Remediated(check, target))

    def request_changed(self, before: SeenRequest | None, after: SeenRequest | None) -> None:
        """Update counts by requests that come and go between two questions."""
        self._in_flight.request_changed(before, after)

    def stuck_slots(self) -> tuple[StuckSlots, ...] | None:
        """Full limits whose slots are kept for too long while targets wait; None if counts are missing."""
        self._take_in_policy()
        now = self._now()
        if self._scopes.are_off:
            return ()
        if self._unknown(now) is not None:
            return None
        return stuck_slots(self._scopes.of, self._records.under_way, self._queue.waiting(now), now)

    def usage_of(self, check: CheckReference) -> Iterator[tuple[LimitScope, int]]:
        """The limits for remediations of a check, each with the number of those in flight that count."""
        self._take_in_policy()
        for scope in self._scopes.of(check):
            counted = [
                under_way
                for under_way in self._records.under_way
                if scope.check in (None, under_way.remediation.check)
            ]
            yield scope, len(counted)

    def preview(self, scopes_of: ScopesOf | None = None) -> "Limiting":
        """Say which limit would hold a remediation now, without a place in the queue or a slot for it.

        With `scopes_of` by these limits; waiting targets do not come first then.
        """
        self._take_in_policy()
        is_supposed = scopes_of is not None
        scopes = scopes_of or self._scopes.of
        usage = self._records.usage if scopes_of is None else self._records.usage_by(scopes_of)

        def limit(question: LimitQuestion) -> Hold | None:
            now, incident = self._now(), question.incident
            applied = tuple(scopes(incident.check))
            if not applied or (question.due > now and not question.may_skip_its_wait):
                return None
            remediation = LimitedRemediation(incident.check, labels_for(applied, question.target))
            waiting = Waiting(question.since, _name_of(incident), remediation)
            if (unknown := self._unknown(now)) is not None:
                return unknown
            own = Remediated.of(incident) if self._records.has_reserved(incident) else None
            refusal = usage.refusal(waiting, now, besides=own)
            selection = self._queue.selection
            if refusal is None and own is None and not is_supposed and waiting.name not in selection:
                refusal = usage.refusal(waiting, now, selection)
            return None if refusal is None else refusal.hold

        return limit

    def dequeue(self, incident: IncidentReference) -> None:
        """Remove an incident from the queue: another hold applies, or it no longer wants to act."""
        self._queue.dequeue(incident)

    def enqueue(self, question: LimitQuestion) -> Hold | None:
        """Queue the incident, and return the limit that its remediation would break, if it is due."""
        self._take_in_policy()
        now, incident = self._now(), question.incident
        if not self._scopes.of(incident.check):
            self._queue.dequeue(incident)
            return None
        remediation = self._records.remediation(incident.check, question.target)
        waiting = Waiting(question.since, _name_of(incident), remediation)
        self._queue.enqueue(QueueEntry(incident, question.due, waiting), now)
        if question.may_skip_its_wait or question.due <= now:
            return self._unknown(now) or self._refusal(incident, waiting, now)
        return None

    def answered(self, incident: IncidentReference, observation: Observation, intent: Intent) -> Observation:
        """The answer for this observation: with an admission only if a slot is reserved for it."""
        self._queue.asked(incident, self._now(), would_act=intent.would_act and not observation.is_shadow)
        return answered(observation, intent, partial(self._admit, incident, observation))

    def _admit(self, incident: IncidentReference, observation: Observation) -> Admission | Hold:
        """Reserve a slot even without a limit, as one may be chosen during the step."""
        self._take_in_policy()
        target = self._cluster_state.targets.get(incident.check, incident.target.name)
        if target is None:
            return NO_ADMISSION
        remediation, now = self._records.remediation(incident.check, target), self._now()
        refusal = self._refusal_of_unproven(incident, observation, remediation, now)
        if refusal is not None:
            return refusal
        if not (observation.is_marked or observation.under_way or has_remediator_at_work(observation, now)):
            self._records.reserve(Reserved(incident, observation.seen_at or now, remediation))
        return self._scopes.admission(incident.check)

    def _refusal_of_unproven(
        self,
        incident: IncidentReference,
        observation: Observation,
        remediation: LimitedRemediation,
        now: datetime,
    ) -> Hold | None:
        """The limit that a step against a healthy target with its old boot would break.

        Such a target does not wait in the queue, so its incident asks again by itself.
        """
        is_under_way = observation.requests or observation.is_marked or observation.under_way
        if (
            observation.state is not TargetState.HEALTHY
            or is_under_way
            or not self._scopes.of(incident.check)
        ):
            return None
        since = observation.fact.since if observation.fact else now
        waiting = Waiting(since, _name_of(incident), remediation)
        hold = self._unknown(now) or self._refusal(incident, waiting, now)
        return hold and hold.asking_again_after(min(hold.ask_again_seconds, UNQUEUED_ASK_AGAIN_SECONDS))

    def _unknown(self, now: datetime) -> Hold | None:
        known_at = self._known_from + LIVES + self._policy().staleness_limit
        if now < known_at:
            words = "admissions of the previous leader may not be visible yet"
            return limit_hold(words, (known_at - now).total_seconds())
        if self.needs_ended:
            words = "the remediations of the last hour are unknown"
            return limit_hold(words, UNREAD_ASK_AGAIN_SECONDS)
        return None

    def _refusal(self, incident: IncidentReference, waiting: Waiting, now: datetime) -> Hold | None:
        usage = self._records.usage
        own = Remediated.of(incident) if self._records.has_reserved(incident) else None
        refusal = usage.refusal(waiting, now, besides=own)
        if refusal is None and own is None and waiting.name not in self._queue.selection:
            # Targets that have waited longer go first; a selected target keeps its turn.
            self._select_if_due(now)
            if self._queue.selection:
                refusal = usage.refusal(waiting, now, self._queue.selection)
        return None if refusal is None else refusal.hold

    def _select_if_due(self, now: datetime) -> None:
        if not self._queue.is_selection_due(now):
            return
        self._queue.select(self._records.usage, self._records.has_begun, now)
        if self._scopes.limit_starts:  # each start leaves the last hour at its own time
            self._queue.select_soon(now)

    def _slots_changed(self, remediated: Remediated, change: SlotChange) -> None:
        self._queue.slots_changed(remediated, change, self._records.usage, self._now())

    def _take_in_policy(self) -> None:
        if self._scopes.take_in_policy():
            self._limit_otherwise(None)

    def _limit_otherwise(self, check: CheckReference | None) -> None:
        """Apply changed limits of a check, or (None) of the policy; its targets will be observed again."""
        self._queue.empty(check)
        self._records.limit_otherwise(check)

    def _began(self, remediated: Remediated, since: datetime | None) -> None:
        self._records.began(remediated, since, self._now())


def _name_of(incident: IncidentReference) -> str:
    """The name of an incident in the queue of one cluster; to make its workflow id would cost more."""
    check, target = incident.check, incident.target
    return f"{check.kind}/{check.group}/{check.namespace}/{check.name}/{target.name}/{target.uid}"


Limiting = Callable[[LimitQuestion], Hold | None]
"""Returns the limit that a remediation would break."""


def nothing_is_limited(_: LimitQuestion) -> None:
    """Return None, where no limits apply to any remediation."""
