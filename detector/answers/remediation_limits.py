"""RemediationLimits: what the detector that leads has admitted, and why another would be one too many.

What is under way is read off the cluster state. What was admitted a moment ago is not seen there yet: it is
reserved until it is, or until the state is proven to be younger than anything that the admission can have
made. Nothing is reserved twice, and nobody else admits: so the limits hold at every moment. Who begins to
lead does not know what the leader before admitted, and waits as long as that may live.

Who waits goes by its place in the line (`waiting_line.py`); who has a reservation has had its turn, and keeps
it. An answer costs the same however many wait: what counts is counted anew only when something else counts.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

from detector.answers.limit_scopes import LimitScopes
from detector.answers.recent_starts import RecentStarts
from detector.answers.reservations import LIVES, Proves, Reservations, Reserved
from detector.answers.waiting_line import InLine, WaitingLine
from detector.state.cluster_state import ClusterState
from detector.state.in_flight import InFlight, Remediated
from detector.state.request_index import SeenRequest
from health.gate.answer import answered
from health.gate.limits import HOUR, Remediation, Tally, Waiting, limit_hold
from health.gate.policy import CurrentPolicy
from health.gate.stuck_slots import StuckSlots, UnderWay, stuck_slots
from health.model.admission import Admission, Intent
from health.model.observation import NO_ADMISSION, Hold, Observation, TargetState
from health.model.references import CheckReference, IncidentReference
from health.model.target import Target
from health.runbook.wake_up import has_remediator_at_work

LOOK_AGAIN_SECONDS = 1.0
SECOND = timedelta(seconds=1)
"""Creations are told in whole seconds."""
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
        self._line = WaitingLine(cluster_state)
        self._in_flight = InFlight(cluster_state, self._began, self._ended)
        self._under_way: dict[Remediated, UnderWay] = {}
        """With the labels that the targets had when it began."""
        self._reservations = Reservations(proves)
        self._starts = RecentStarts()
        self._tally: Tally | None = None
        """What counts; None: something else than was counted last."""
        self._known_from = now()
        """Since when everything that is admitted is known here."""
        self._are_ended_known = False

    def lead_begins(self) -> None:
        """Another may have admitted until now."""
        self._known_from = self._now()
        self._reservations.clear()
        self._line.empty()
        self._tally = None
        self._are_ended_known = False

    async def lead(self) -> None:
        """Tell those whose turn it is, until cancelled."""
        while True:
            with self._cluster_state.guard.item("limits", "those who wait"):
                self._tell()
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
        if self._starts.note_ended(remediated, ended):
            self._tally = None

    def complete(self) -> None:
        """Note that all that ended is known."""
        self._are_ended_known = True

    def changed(self, check: CheckReference, target: str | None) -> None:
        """See what a change does to what counts and to who waits, before anybody is answered by it."""
        if self._scopes.take_in_check(check):
            self._limit_otherwise()
        self._in_flight.changed(check, target)
        if target is not None:
            self._line.changed(Remediated(check, target))

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
        under_way = tuple(self._under_way.values())
        return stuck_slots(self._scopes.of, under_way, self._line.waiting(now), now)

    def leave_line(self, incident: IncidentReference) -> None:
        """Something else holds it, or it wants nothing any more."""
        self._line.leave(incident)

    def line_up(self, question: LimitQuestion) -> Hold | None:
        """Why it would be one too many; it stands in the line from now on, if nothing else holds it."""
        self._take_in_policy()
        now, incident = self._now(), question.incident
        if not self._scopes.of(incident.check):
            self._line.leave(incident)
            return None
        waiting = Waiting(
            question.since, incident.workflow_id, self._remediation(incident.check, question.target)
        )
        self._line.stand(InLine(incident, question.due, waiting), now)
        if question.may_skip_its_wait or question.due <= now:
            return self._unknown(now) or self._refusal(incident, waiting, now)
        return None

    def answered(self, incident: IncidentReference, seen: Observation, intent: Intent) -> Observation:
        """What is seen, as the answer to a question: with an admission only if a slot is reserved for it."""
        self._line.came(incident, would_act=intent.would_act and not seen.is_shadow)
        return answered(seen, intent, partial(self._admit, incident, seen))

    def _admit(self, incident: IncidentReference, seen: Observation) -> Admission | Hold:
        """Reserve a slot, also where no limit bears: one may be chosen while the step is under way."""
        self._take_in_policy()
        target = self._cluster_state.targets.get(incident.check, incident.target.name)
        if target is None:
            return NO_ADMISSION
        remediation, now = self._remediation(incident.check, target), self._now()
        refusal = self._refusal_of_unproven(incident, seen, remediation, now)
        if refusal is not None:
            return refusal
        if not (seen.is_marked or seen.under_way or has_remediator_at_work(seen, now)):
            self._reservations.reserve(Reserved(incident, seen.seen_at or now, remediation))
            self._tally = None
        return self._scopes.admission(incident.check)

    def _refusal_of_unproven(
        self, incident: IncidentReference, seen: Observation, remediation: Remediation, now: datetime
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
        reserved = self._reservations.of(incident)
        if reserved is not None:
            return self._counted(now, besides=reserved).refusal(waiting, now)
        return self._current(now).refusal(waiting, now) or self._settled(now).refusal(waiting, now)

    def _current(self, now: datetime) -> Tally:
        """What counts; those who go first only if that is settled."""
        if self._tally is None:
            self._tally = self._counted(now)
            self._line.settle_by(now)
        if not self._line.is_settled(now):
            self._tally.let_nobody_go_first()
        return self._tally

    def _settled(self, now: datetime) -> Tally:
        """What counts, and who goes first."""
        tally = self._current(now)
        if not self._line.is_settled(now):
            self._line.settle(tally, (*self._reservations.targets(), *self._under_way), now)
            if self._scopes.limit_starts:  # any of them may be an hour ago in a moment
                self._line.settle_by(now + SECOND)
        return tally

    def _counted(self, now: datetime, besides: Reserved | None = None) -> Tally:
        """What counts for all, or for the one that has the reservation `besides`."""
        tally = Tally(self._scopes.of)
        for one in self._under_way.values():
            tally.count(one.remediation)
        for remediated, began in self._starts.since(now - HOUR):
            tally.count_start(remediated.check, began)
        for reserved in self._reservations.all():
            if reserved is not besides and Remediated.of(reserved.incident) not in self._under_way:
                tally.count(reserved.remediation)
                tally.count_start(reserved.remediation.check, now)
        return tally

    def _tell(self) -> None:
        """Tell whoever may begin now, once for each turn."""
        now = self._now()
        self._take_in_policy()
        self._in_flight.look_again()
        self._forget_the_settled(now)
        self._starts.forget(self.horizon)  # also where nobody counts them: they would grow for ever
        if self._scopes.are_off or self._unknown(now) is not None:
            return
        self._settled(now)
        for incident in self._line.call_next(now):
            self._cluster_state.event_handlers.notify_change(incident.check, incident.target.name)

    def _take_in_policy(self) -> None:
        if self._scopes.take_in_policy():
            self._limit_otherwise()

    def _limit_otherwise(self) -> None:
        """Others are limited, or by other labels: whoever waits is asked about that by the same change."""
        self._line.empty()
        self._under_way = {
            one: replace(known, remediation=self._labelled(one, known.remediation))
            for one, known in self._under_way.items()
        }
        self._tally = None

    def _began(self, remediated: Remediated, since: datetime | None) -> None:
        now, reserved = self._now(), self._reservations.take(remediated)
        labelled = self._labelled(remediated, reserved.remediation if reserved else None)
        self._under_way[remediated] = UnderWay(remediated.target, labelled, since or now)
        self._starts.note(remediated, now if since is None else min(now, since + SECOND))
        self._tally = None

    def _ended(self, remediated: Remediated) -> None:
        del self._under_way[remediated]
        self._tally = None

    def _labelled(self, remediated: Remediated, known: Remediation | None) -> Remediation:
        """With the labels that its target has now, where it is not known what it had."""
        seen = self._cluster_state.targets.get(*remediated)
        labels = {} if seen is None else dict(self._remediation(remediated.check, seen).labels)
        return Remediation(remediated.check, labels | (dict(known.labels) if known else {}))

    def _remediation(self, check: CheckReference, target: Target) -> Remediation:
        return Remediation(check, self._scopes.labels(check, target))

    def _forget_the_settled(self, now: datetime) -> None:
        for reserved in self._reservations.pop_settled(now):
            self._tally = None
            if self._is_gone(reserved.incident):
                self._starts.note(Remediated.of(reserved.incident), now)

    def _is_gone(self, incident: IncidentReference) -> bool:
        """Whether its target was deleted, which is how a Machine without a finalizer is remediated."""
        seen = self._cluster_state.targets.get(incident.check, incident.target.name)
        return seen is None or seen.metadata.uid != incident.target.uid


Limiting = Callable[[LimitQuestion], Hold | None]
"""Answers why a remediation would be one too many."""


def nothing_is_limited(_: LimitQuestion) -> None:
    """The answer where nobody chose a limit."""
