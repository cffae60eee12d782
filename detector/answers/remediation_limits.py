"""RemediationLimits: what the detector that leads has admitted, and why another would be one too many.

What is under way is read off the cluster state. What was admitted a moment ago is not seen there yet: it is
reserved until it is, or until the state is proven to be younger than anything that the admission can have
made. Nothing is reserved twice, and nobody else admits: so the limits hold at every moment. Who begins to
lead does not know what the leader before admitted, and waits as long as that may live.

A target waits in the queue (`admission_queue.py`) until it has a reservation, which it keeps. An answer costs
the same however many targets wait or are under way: each change counts up or down (`remediation_records.py`).
"""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from detector.answers.admission_queue import AdmissionQueue, QueueEntry
from detector.answers.limit_scopes import LimitScopes
from detector.answers.remediation_records import RemediationRecords
from detector.answers.reservations import LIVES, Proves, Reserved
from detector.state.cluster_state import ClusterState
from detector.state.in_flight import InFlight, Remediated
from detector.state.request_index import SeenRequest
from health.gate.answer import answered
from health.gate.limit_usage import LimitRefusal, SlotChange
from health.gate.limits import HOUR, LimitedRemediation, Waiting, limit_hold
from health.gate.policy import CurrentPolicy
from health.gate.stuck_slots import StuckSlots, stuck_slots
from health.model.admission import Admission, Intent
from health.model.observation import NO_ADMISSION, Hold, Observation, TargetState
from health.model.references import CheckReference, IncidentReference
from health.model.target import Target
from health.runbook.wake_up import has_remediator_at_work
from kube.time_slice import TimeSlice

LOOK_AGAIN_SECONDS = 1.0
UNREAD_ASK_AGAIN_SECONDS = 10.0
OUT_OF_LINE_ASK_AGAIN_SECONDS = 60.0


@dataclass(frozen=True)
class LimitQuestion:
    """Asked for an incident that nothing else holds, or back-off alone."""

    incident: IncidentReference
    target: Target
    since: datetime
    """Since when its target is unhealthy."""
    due: datetime
    """When nothing but limits holds it."""
    may_skip_its_wait: bool = False
    """Whether a person may have it act before that, which ends back-off."""


class RemediationLimits:
    """The limits of one cluster, where the policy or an annotation of a check chooses any."""

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
        """Since when everything that is admitted is known here."""
        self._are_ended_known = False

    def lead_begins(self) -> None:
        """Another may have admitted until now."""
        self._known_from = self._now()
        self._queue.empty()
        self._records.forget_reservations()
        self._are_ended_known = False

    async def lead(self) -> None:
        """Notify the incidents whose turn it is, in pieces, until cancelled."""
        while True:
            with self._cluster_state.guard.item("limits", "those who wait"):
                piece = TimeSlice()
                for incident in self.turns():
                    self._cluster_state.event_handlers.notify_change(incident.check, incident.target.name)
                    await piece.yield_if_over()
            await asyncio.sleep(LOOK_AGAIN_SECONDS)

    @property
    def needs_ended(self) -> bool:
        """Whether it matters which remediations began and ended before our watch began, and is not known."""
        return not self._are_ended_known and self._scopes.limit_starts

    @property
    def horizon(self) -> datetime:
        """What began before does not matter any more."""
        return self._now() - HOUR

    def note_ended(self, remediated: Remediated, ended: datetime) -> None:
        """Note a remediation that has ended; one that was seen to begin is known."""
        self._records.note_ended(remediated, ended)

    def turns(self) -> Iterator[IncidentReference]:
        """The incidents that may begin now, each once in its turn."""
        now = self._now()
        self._take_in_policy()
        self._in_flight.look_again()
        self._records.forget(now, self.horizon)  # also where no limit counts them: they would grow for ever
        if self._scopes.are_off or self._unknown(now) is not None:
            return
        self._select_if_due(now)
        yield from self._queue.notify(now)

    def complete(self) -> None:
        """Note that all that ended is known."""
        self._are_ended_known = True

    def changed(self, check: CheckReference, target: str | None) -> None:
        """See what a change does to what counts and to who waits, before anybody is answered by it."""
        if self._scopes.take_in_check(check):
            self._limit_otherwise(check)
        self._in_flight.changed(check, target)
        if target is not None:
            self._queue.changed(Remediated(check, target))

    def request_changed(self, before: SeenRequest | None, after: SeenRequest | None) -> None:
        """See also what comes and goes between two questions."""
        self._in_flight.request_changed(before, after)

    def stuck_slots(self) -> tuple[StuckSlots, ...] | None:
        """Who keeps slots for too long that others wait for; None: not all that counts is known yet."""
        self._take_in_policy()
        now = self._now()
        if self._scopes.are_off:
            return ()
        if self._unknown(now) is not None:
            return None
        return stuck_slots(self._scopes.of, self._records.under_way, self._queue.waiting(now), now)

    def leave_line(self, incident: IncidentReference) -> None:
        """Something else holds it, or it wants nothing any more."""
        self._queue.leave(incident)

    def line_up(self, question: LimitQuestion) -> Hold | None:
        """Why it would be one too many; it stands in the line from now on, if nothing else holds it."""
        self._take_in_policy()
        now, incident = self._now(), question.incident
        if not self._scopes.of(incident.check):
            self._queue.leave(incident)
            return None
        remediation = self._records.remediation(incident.check, question.target)
        waiting = Waiting(question.since, incident.workflow_id, remediation)
        self._queue.enqueue(QueueEntry(incident, question.due, waiting), now)
        if question.may_skip_its_wait or question.due <= now:
            return self._unknown(now) or self._refusal(incident, waiting, now)
        return None

    def answered(self, incident: IncidentReference, seen: Observation, intent: Intent) -> Observation:
        """What is seen, as the answer to a question: with an admission only if a slot is reserved for it."""
        self._queue.asked(incident, self._now(), would_act=intent.would_act and not seen.is_shadow)
        return answered(seen, intent, partial(self._admit, incident, seen))

    def _admit(self, incident: IncidentReference, seen: Observation) -> Admission | Hold:
        """Reserve a slot, also where no limit bears: one may be chosen while the step is under way."""
        self._take_in_policy()
        target = self._cluster_state.targets.get(incident.check, incident.target.name)
        if target is None:
            return NO_ADMISSION
        remediation, now = self._records.remediation(incident.check, target), self._now()
        refusal = self._refusal_of_unproven(incident, seen, remediation, now)
        if refusal is not None:
            return refusal
        if not (seen.is_marked or seen.under_way or has_remediator_at_work(seen, now)):
            self._records.reserve(Reserved(incident, seen.seen_at or now, remediation))
        return self._scopes.admission(incident.check)

    def _refusal_of_unproven(
        self, incident: IncidentReference, seen: Observation, remediation: LimitedRemediation, now: datetime
    ) -> Hold | None:
        """The limit that a step against a healthy target with its old boot would break.

        Such a target does not stand in the line, so it asks again by itself.
        """
        is_under_way = seen.requests or seen.is_marked or seen.under_way
        if seen.state is not TargetState.HEALTHY or is_under_way or not self._scopes.of(incident.check):
            return None
        since = seen.fact.since if seen.fact else now
        waiting = Waiting(since, incident.workflow_id, remediation)
        hold = self._unknown(now) or self._refusal(incident, waiting, now)
        return hold and limit_hold(hold.message, min(hold.ask_again_seconds, OUT_OF_LINE_ASK_AGAIN_SECONDS))

    def _unknown(self, now: datetime) -> Hold | None:
        known = self._known_from + LIVES + self._policy().staleness_limit
        if now < known:
            words = "what the leader before admitted is not seen for sure yet"
            return limit_hold(words, (known - now).total_seconds())
        if self.needs_ended:
            words = "which remediations began within the last hour was not read yet"
            return limit_hold(words, UNREAD_ASK_AGAIN_SECONDS)
        return None

    def _refusal(self, incident: IncidentReference, waiting: Waiting, now: datetime) -> Hold | None:
        usage = self._records.usage
        if self._records.has_reserved(incident):
            refusal = usage.refusal(waiting, now, besides=Remediated.of(incident))
        else:
            refusal = usage.refusal(waiting, now) or self._refusal_out_of_turn(waiting, now)
        return None if refusal is None else refusal.hold

    def _refusal_out_of_turn(self, waiting: Waiting, now: datetime) -> LimitRefusal | None:
        """Why targets that wait for longer go first; a selected target keeps its turn."""
        if waiting.name in self._queue.selection:
            return None
        self._select_if_due(now)
        selection = self._queue.selection
        return self._records.usage.refusal(waiting, now, selection) if selection else None

    def _select_if_due(self, now: datetime) -> None:
        if not self._queue.is_selection_due(now):
            return
        self._queue.select(self._records.usage, self._records.has_begun, now)
        if self._scopes.limit_starts:  # any of them may be an hour ago in a moment
            self._queue.select_soon(now)

    def _slots_changed(self, remediated: Remediated, change: SlotChange) -> None:
        self._queue.slots_changed(remediated, change, self._records.usage, self._now())

    def _take_in_policy(self) -> None:
        if self._scopes.take_in_policy():
            self._limit_otherwise(None)

    def _limit_otherwise(self, check: CheckReference | None) -> None:
        """Take in other limits of a check, or (None) of the policy; its targets are observed anew."""
        self._queue.empty(check)
        self._records.limit_otherwise(check)

    def _began(self, remediated: Remediated, since: datetime | None) -> None:
        self._records.began(remediated, since, self._now())


Limiting = Callable[[LimitQuestion], Hold | None]
"""Answers why a remediation would be one too many."""


def nothing_is_limited(_: LimitQuestion) -> None:
    """The answer where nobody chose a limit."""
