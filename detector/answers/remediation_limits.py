"""RemediationLimits: what the detector that leads has admitted, and who waits for the limits.

What is under way is read off the cluster state. What was admitted a moment ago is not seen there yet: it is
reserved until it is, or until the state is proven to be younger than anything that the admission can have
made. Nothing is reserved twice, and nobody else admits: so the limits hold at every moment. Who begins to
lead does not know what the leader before admitted, and waits as long as that may live.

Who waits longest goes first. But nobody is kept by one that does not come: a worker may be stuck, a person
may hold it. Who was let go first and has not asked in its turn is passed over until it asks.
"""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from detector.state.cluster_state import ClusterState
from detector.state.in_flight import Remediated, in_flight
from detector.state.request_index import SeenRequest
from health.gate.health_check import InvalidCheckError
from health.gate.limits import HOUR, Remediation, Scope, Tally, Waiting, next_in_line
from health.gate.policy import CurrentPolicy
from health.model.observation import Hold, HoldReason, Observation
from health.model.references import CheckReference, IncidentReference
from health.model.target import Target
from workflows.contracts import ACT, CLOCK_TOLERANCE, FRESH

LIVES = FRESH + CLOCK_TOLERANCE + ACT.attempt
"""What an admission leads to is written by then: no act writes on an older one, and none lasts longer."""
TURN = timedelta(seconds=30)
LOOK_AGAIN_SECONDS = 1.0
SECOND = timedelta(seconds=1)
"""Creations are told in whole seconds."""
UNREAD_ASK_AGAIN_SECONDS = 10.0

Proves = Callable[[CheckReference, timedelta], bool]
"""Whether all that matters to a check was proven, within the time given, to be as it is seen."""


@dataclass(frozen=True)
class Wish:
    """An incident that nothing else holds, or back-off alone."""

    incident: IncidentReference
    target: Target
    since: datetime
    """Since when its target is unhealthy."""
    due: datetime
    """When nothing but limits holds it."""
    may_skip_its_wait: bool = False
    """Whether a person may have it act before that, which ends back-off."""


@dataclass(frozen=True)
class _InLine:
    """One that waits, or that will once it is due."""

    due: datetime
    waiting: Waiting


@dataclass(frozen=True)
class _Reserved:
    """One that may be beginning now."""

    since: datetime
    remediation: Remediation


@dataclass(frozen=True)
class Start:
    """That a remediation began."""

    remediated: Remediated
    began: datetime


class RemediationLimits:
    """The limits of one cluster, where the policy or an annotation of a check chooses any."""

    def __init__(
        self, cluster_state: ClusterState, policy: CurrentPolicy, proves: Proves, now: Callable[[], datetime]
    ) -> None:
        self._cluster_state = cluster_state
        self._policy = policy
        self._proves = proves
        self._now = now
        self._line: dict[IncidentReference, _InLine] = {}
        self._declined: set[IncidentReference] = set()
        """Those that would not act on an admission, as they said."""
        self._awaited: dict[IncidentReference, datetime] = {}
        """Since when it is somebody's turn who has not come."""
        self._reserved: dict[IncidentReference, _Reserved] = {}
        self._under_way: dict[Remediated, Remediation] = {}
        self._starts: list[Start] = []
        self._known_from = now()
        """Since when everything that is admitted is known here."""
        self._are_ended_known = False

    def lead_begins(self) -> None:
        """Another may have admitted until now."""
        self._known_from = self._now()
        for known in (self._line, self._awaited, self._reserved):
            known.clear()
        self._declined.clear()
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
        return not self._are_ended_known and any(one.limits.max_starts_per_hour for one in self._all_scopes())

    @property
    def horizon(self) -> datetime:
        """What began before does not matter any more."""
        return self._now() - HOUR

    def note_ended(self, remediated: Remediated, ended: datetime) -> None:
        """Note a remediation that has ended; when it began nobody knows, so it counts from its end.

        One that was seen to begin is known.
        """
        if any(one.remediated == remediated and one.began <= ended for one in self._starts):
            return
        self._starts.append(Start(remediated, ended))

    def complete(self) -> None:
        """Note that all that ended is known."""
        self._are_ended_known = True

    def leave_line(self, incident: IncidentReference) -> None:
        """Before it is looked at anew."""
        self._line.pop(incident, None)

    def hold(self, wish: Wish) -> Hold | None:
        """Why it would be one too many; it stands in the line from now on, if nothing else holds it."""
        now, check = self._now(), wish.incident.check
        if not any(True for _ in self.scopes_of(check)):
            return None
        waiting = Waiting(wish.since, wish.incident.workflow_id, self._remediation_of(wish))
        self._line[wish.incident] = _InLine(wish.due, waiting)
        if wish.may_skip_its_wait or wish.due <= now:
            return self._unknown(now) or self._refusal(wish.incident, waiting, now)
        return None

    def handed_out(self, incident: IncidentReference, answer: Observation, *, would_act: bool) -> None:
        """Note what an incident is told: an admission is reserved for it."""
        self._awaited.pop(incident, None)
        if not would_act or answer.is_shadow:
            self._declined.add(incident)
            return
        self._declined.discard(incident)
        seen = self._cluster_state.targets.get(incident.check, incident.target.name)
        if _may_begin(answer) and not (answer.requests or answer.is_marked or answer.under_way) and seen:
            remediation = Remediation(incident.check, self._labels(incident.check, seen))
            self._reserved[incident] = _Reserved(answer.seen_at or self._now(), remediation)

    def request_changed(self, before: SeenRequest | None, after: SeenRequest | None) -> None:
        """See also what comes and goes between two questions."""
        if (before is None) != (after is None) and self._is_limited():
            self._see()

    def scopes_of(self, check: CheckReference) -> Iterator[Scope]:
        """The limits that bear on remediations of a check."""
        if not self._policy().limits.is_off:
            yield Scope(self._policy().limits, "the policy")
        known = self._cluster_state.checks.get(check)
        if known is None or isinstance(known.check, InvalidCheckError):
            return
        if not known.check.choices.limits.is_off:
            yield Scope(known.check.choices.limits, f"the annotations of {check}", check)

    def _all_scopes(self) -> Iterator[Scope]:
        if not self._policy().limits.is_off:
            yield Scope(self._policy().limits, "the policy")
        for check in self._cluster_state.checks:
            yield from (scope for scope in self.scopes_of(check) if scope.check is not None)

    def _is_limited(self) -> bool:
        return next(self._all_scopes(), None) is not None

    def _unknown(self, now: datetime) -> Hold | None:
        known = self._known_from + LIVES + self._policy().staleness_limit
        if now < known:
            words = "held: what the leader before admitted is not seen for sure yet"
            return _hold(words, (known - now).total_seconds())
        if self.needs_ended:
            words = "held: which remediations began within the last hour was not read yet"
            return _hold(words, UNREAD_ASK_AGAIN_SECONDS)
        return None

    def _refusal(self, incident: IncidentReference, waiting: Waiting, now: datetime) -> Hold | None:
        tally = self._tally(now, incident)
        refused = tally.refusal(waiting.remediation)
        if refused is not None:
            return refused
        first = [one for key, one in self._in_turn(now) if key != incident and one.place < waiting.place]
        next_in_line(first, tally)
        return tally.refusal(waiting.remediation)

    def _tally(self, now: datetime, besides: IncidentReference | None = None) -> Tally:
        """What counts at this moment, for another than the incident `besides`."""
        self._see()
        scopes: dict[CheckReference, tuple[Scope, ...]] = {}

        def scopes_of(check: CheckReference) -> tuple[Scope, ...]:
            return scopes.get(check) or scopes.setdefault(check, tuple(self.scopes_of(check)))

        tally = Tally(scopes_of, now)
        for remediation in self._under_way.values():
            tally.count(remediation)
        for start in self._starts:
            tally.count_start(start.remediated.check, start.began)
        for incident, reserved in self._reserved.items():
            if incident != besides:
                tally.count(reserved.remediation)
                tally.count_start(incident.check, now)
        return tally

    def _in_turn(self, now: datetime) -> Iterator[tuple[IncidentReference, Waiting]]:
        """Those who wait, but for those who do not come."""
        for incident, one in self._line.items():
            is_passed_over = now - self._awaited.get(incident, now) > TURN
            if one.due <= now and not is_passed_over and self._is_waiting(incident):
                yield incident, one.waiting

    def _is_waiting(self, incident: IncidentReference) -> bool:
        known = self._cluster_state.checks.get(incident.check)
        if known is None or incident.target.name not in known.unhealthy:
            return False
        begins = incident in self._reserved or _remediated(incident) in self._under_way
        return not begins and incident not in self._declined

    def _tell(self) -> None:
        """Tell whoever may begin now, once for each turn."""
        now = self._now()
        if not self._is_limited():
            self._forget_all()
            self._forget_the_settled(now)
            return
        tally = self._tally(now)
        self._line = {key: one for key, one in self._line.items() if self._is_known(key)}
        self._awaited = {key: since for key, since in self._awaited.items() if key in self._line}
        self._declined = {key for key in self._declined if self._is_known(key)}
        if self._unknown(now) is not None:
            return
        incidents = {waiting.name: incident for incident, waiting in self._in_turn(now)}
        for waiting in next_in_line((one for _, one in self._in_turn(now)), tally):
            incident = incidents[waiting.name]
            if incident not in self._awaited:
                self._awaited[incident] = now
                self._cluster_state.event_handlers.notify_change(incident.check, incident.target.name)

    def _forget_all(self) -> None:
        """Nobody chose a limit: what is seen when somebody does is all there is."""
        self._under_way, self._starts, self._are_ended_known = {}, [], False
        for known in (self._line, self._awaited, self._declined):
            known.clear()

    def _is_known(self, incident: IncidentReference) -> bool:
        return incident in self._cluster_state.wanted(incident.check, incident.target.name)

    def _see(self) -> None:
        """Take in what is under way now, and what of it began."""
        now, seen = self._now(), in_flight(self._cluster_state)
        for remediated, since in seen.items():
            if remediated not in self._under_way:
                began = now if since is None else min(now, since + SECOND)
                self._starts.append(Start(remediated, began))
        self._under_way = {remediated: self._of_under_way(remediated) for remediated in seen}
        self._starts = [start for start in self._starts if start.began > now - HOUR]
        self._forget_the_settled(now)

    def _of_under_way(self, remediated: Remediated) -> Remediation:
        """With the labels that its target had when it began."""
        seen = self._cluster_state.targets.get(*remediated)
        labels = {} if seen is None else self._labels(remediated.check, seen)
        known = self._under_way.get(remediated) or self._reserved_for(remediated)
        return Remediation(remediated.check, labels | (dict(known.labels) if known else {}))

    def _reserved_for(self, remediated: Remediated) -> Remediation | None:
        of_it = (one for key, one in self._reserved.items() if (key.check, key.target.name) == remediated)
        return next((one.remediation for one in of_it), None)

    def _forget_the_settled(self, now: datetime) -> None:
        """What is under way is seen, and of what is proven to have come to nothing nothing will be seen."""
        for incident, reserved in list(self._reserved.items()):
            remediated = _remediated(incident)
            if remediated in self._under_way:
                del self._reserved[incident]
            elif self._is_proven_after(reserved.since + LIVES, incident.check, now):
                del self._reserved[incident]
                if self._is_gone(incident):
                    self._starts.append(Start(remediated, now))

    def _is_proven_after(self, time: datetime, check: CheckReference, now: datetime) -> bool:
        return now > time and self._proves(check, now - time)

    def _is_gone(self, incident: IncidentReference) -> bool:
        """Whether its target was deleted, which is how a Machine without a finalizer is remediated."""
        seen = self._cluster_state.targets.get(incident.check, incident.target.name)
        return seen is None or seen.metadata.uid != incident.target.uid

    def _remediation_of(self, wish: Wish) -> Remediation:
        return Remediation(wish.incident.check, self._labels(wish.incident.check, wish.target))

    def _labels(self, check: CheckReference, target: Target) -> dict[str, str | None]:
        names = {name for scope in self.scopes_of(check) for name in scope.limits.max_in_flight_by_label}
        return {name: target.node_label(name) for name in names}


def _remediated(incident: IncidentReference) -> Remediated:
    return Remediated(incident.check, incident.target.name)


def _may_begin(answer: Observation) -> bool:
    """Whether the incident may act on it: a person may have it skip its back-off."""
    return answer.is_admitted or (answer.hold is not None and answer.hold.reason is HoldReason.BACK_OFF)


def _hold(message: str, ask_again_seconds: float) -> Hold:
    return Hold(reason=HoldReason.LIMIT, message=message, ask_again_seconds=max(1.0, ask_again_seconds))


Limiting = Callable[[Wish], Hold | None]
"""Answers why a remediation would be one too many."""


def nothing_is_limited(_: Wish) -> None:
    """The answer where nobody chose a limit."""
