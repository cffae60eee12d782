"""Attempts: the ended remediations of each target, by name, which decide back-off (rule 14).

Deletion ends a target that its owner replaces. The replacement counts as the next attempt: a new target
follows the latest deletion under its owner before its creation, even if other targets are deleted later.
Otherwise two targets that fail in turn would end each other's back-off.

A remediation ends when the last request of its check for the target is gone. The watch shows that a moment
before the incident that deleted it ends, also to a standby. Earlier ends are read from the incidents
(`AttemptReading`), which note the same number and, within a second, the same time, so an end may be noted
twice. A process that has watched for twice the limit, as a standby has, needs no earlier ones.

An end is remembered for twice the limit. It holds nothing after once the limit; a target that fails within
the limit, and is then held for another reason for as long, starts at the first attempt again.
"""

import asyncio
from bisect import bisect_left
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain

from temporalio.service import RPCError

from detector.dispatching.incident_calls import IncidentCalls, read_ended
from detector.state.cluster_state import ClusterState
from detector.state.request_index import SeenRequest
from detector.state.target_store import place_of
from health.gate.back_off import EndedAttempt, RemediationBackOff
from health.model.references import IncidentReference, TargetReference
from health.model.target import Target, TargetName, TargetPlace, owner_name
from health.policy.policy import CurrentPolicy
from runtime.payload_codec import UnreadablePayload
from runtime.problems import Problems
from workflows.messages import EarlierAttempt

SECOND = timedelta(seconds=1)
LATE = 2 * SECOND
"""Kubernetes times are in whole seconds, and a deletion is seen a moment after it."""
CLOCK_SKEW = timedelta(minutes=1)
"""How far the clock of another process may be ahead of ours."""
NOT_READ = "earlier remediations were not read yet"
LONGEST_WAIT = timedelta(seconds=1)
"""Starts and answers wait no longer; without the reading, everything that back-off could hold is held."""
LOOK_AGAIN_SECONDS = 1.0
"""How often to look for a limit that grew."""


@dataclass(frozen=True)
class FailingTarget:
    """An unhealthy target with the times of its failure."""

    target: Target
    failed: datetime
    """When it became unhealthy."""
    deadline: datetime
    is_observed: bool = True
    """True if the watch showed it unhealthy before its deletion, and its deletion before later events."""


class Attempts:
    """The ended remediations of each target of one detector."""

    def __init__(
        self, policy: CurrentPolicy, cluster_state: ClusterState, now: Callable[[], datetime]
    ) -> None:
        self._policy = policy
        self._unread = NOT_READ
        self._asked: set[str] = set()
        """Uids of targets whose own latest remediation was asked for."""
        self._watched_from: datetime | None = None
        self._cluster_state = cluster_state
        self._now = now
        self._ended: dict[TargetName, list[EndedAttempt]] = {}
        """By target or owner, in the order of their latest notes; each list is in the order of ends."""

    @property
    def limit(self) -> timedelta:
        """The longest wait between two remediations of one target; zero without back-off."""
        return self._policy().back_off_limit

    @property
    def unread(self) -> str:
        """Why earlier ends are not known yet; "" once they are."""
        if not self._unread:
            return ""
        watched_from = self._watched_from
        return "" if watched_from is not None and watched_from <= self.horizon else self._unread

    def watch_begins(self) -> None:
        """Note that this process sees every end from now on."""
        self._watched_from = self._now()

    def complete(self) -> None:
        """Note that all earlier ends are known."""
        self._unread = ""
        self._asked.clear()

    def unread_of(self, target: Target | None) -> str:
        """Why earlier ends that can matter for this target are unknown; "" once they are known.

        A target that is older than all deletions that matter follows none of them (rule 14).
        """
        unread = self.unread
        is_asked = target is not None and target.metadata.uid in self._asked
        return "" if unread and is_asked and self._is_old(target) else unread

    def can_be_asked_for(self, target: Target | None) -> bool:
        """True if a question about this target alone would end `unread_of`."""
        return bool(self.limit and self.unread_of(target)) and self._is_old(target)

    def asked(self, target: TargetReference, found: Iterable[EndedAttempt]) -> None:
        """Note the latest remediations of one target, by any check."""
        for attempt in found:
            self.note(TargetName.of(target), attempt)
        self._asked.add(target.uid)

    def _is_old(self, target: Target | None) -> bool:
        return target is not None and target.metadata.creation_timestamp < self.horizon - CLOCK_SKEW

    def request_changed(self, before: SeenRequest | None, after: SeenRequest | None) -> None:
        """Note the end of a remediation if its last request is gone."""
        if before is None or after is not None or before.owner is None:
            return
        request, owner = before.request, before.owner
        if self._cluster_state.requests.of(owner, request.target_name):
            return
        target = place_of(owner).named(request.target_name)
        check = self._cluster_state.checks.get(owner)
        # Times are in whole seconds, so only this event shows a failure in the second of the request.
        goes_on = check is None or request.target_name in check.unhealthy
        requested = request.metadata.creation_timestamp if goes_on else None
        self.note(target, EndedAttempt(request.attempt, self._now(), requested))

    def note(self, target: TargetName, attempt: EndedAttempt) -> None:
        """Remember an end once; two ends at the same time count as the one with the higher number."""
        self._forget_the_old()
        ended = self._ended.get(target, [])
        at = bisect_left(ended, attempt.ended, key=_end)
        if not self.horizon <= attempt.ended <= self._now() + CLOCK_SKEW:
            return  # too old to matter, or too far in the future to be true
        if at < len(ended) and ended[at].ended == attempt.ended:
            ended[at] = max(ended[at], attempt, key=lambda noted: noted.number)
            return
        if at == len(ended):
            self._ended.pop(target, None)
            self._ended[target] = ended
        ended.insert(at, attempt)
        del ended[: bisect_left(ended, self.horizon, key=_end)]

    def deleted(self, failing: FailingTarget, place: TargetPlace, ended: datetime) -> None:
        """Note the deletion of a target that was unhealthy for long enough, and that its owner replaces."""
        target = failing.target
        number = self.before(place.named(target.metadata.name), target).earlier(failing.failed) + 1
        # Existing targets of its owner that are so young that they look like replacements.
        coexisting = frozenset(
            other.metadata.uid
            for other in (self._cluster_state.targets.at(place).values() if failing.is_observed else ())
            if other.metadata.creation_timestamp >= ended - LATE and other.replaced_by == target.replaced_by
        )
        owner = owner_name(place.namespace, target.replaced_by)
        self.note(owner, EndedAttempt(number, ended, coexisting=coexisting))

    def before(self, name: TargetName, target: Target | None = None) -> RemediationBackOff:
        """The latest remediation of a target, or of the target that it replaces."""
        own = self._ended.get(name, [])[-1:]
        replaced = self._replaced(name.namespace, target) if target is not None else []
        return RemediationBackOff(
            self.limit, max([*own, *replaced], key=_end, default=None), self.unread_of(target)
        )

    def _replaced(self, namespace: str, target: Target) -> list[EndedAttempt]:
        """The latest deletion under the same owner before `target` was created, or none (rule 14)."""
        ended = self._ended.get(owner_name(namespace, target.replaced_by), []) if target.replaced_by else []
        before = bisect_left(ended, target.metadata.creation_timestamp + LATE, key=_end)
        earlier = [attempt for attempt in ended[:before] if target.metadata.uid not in attempt.coexisting]
        return earlier[-1:]

    @property
    def horizon(self) -> datetime:
        """Ends before this time do not matter any more."""
        return self._now() - 2 * self.limit

    def _forget_the_old(self) -> None:
        horizon = self.horizon
        while self._ended:
            oldest, ended = next(iter(self._ended.items()))
            if ended[-1].ended >= horizon:
                return
            del self._ended[oldest]


def _end(attempt: EndedAttempt) -> datetime:
    return attempt.ended


class AttemptReading:
    """Reads from Temporal the remediations that ended before this detector became the leader.

    It reads them once, and once more when visibility, which is eventually consistent, must list all of them.
    Later ends are seen in the watch. Before the first answer only targets are admitted whose own incidents
    tell all (`ask`), unless this process has watched for long enough. Without a limit nothing is read; when
    the limit grows, everything is read again, as older ends matter too. An incident that is encrypted with a
    missing key is waited for like an unreachable Temporal, until it ended too long ago to matter.
    """

    def __init__(
        self, calls: IncidentCalls, attempts: Attempts, cluster_state: ClusterState, problems: Problems
    ) -> None:
        self._calls = calls
        self._attempts = attempts
        self._cluster_state = cluster_state
        self._problems = problems
        self._tried = asyncio.Event()

    async def lead(self) -> None:
        """Read when the limit grows, until cancelled."""
        read_limit = timedelta()
        while True:
            if (limit := self._attempts.limit) > read_limit:
                await read_ended(self._read, (RPCError, UnreadablePayload), self._problems)
                read_limit = limit
            self._tried.set()
            await asyncio.sleep(LOOK_AGAIN_SECONDS)

    def are_unknown(self, incident: IncidentReference) -> bool:
        return self._attempts.can_be_asked_for(self._target(incident))

    async def ask(self, incident: IncidentReference) -> None:
        """Ask for the incidents of all checks that select it; those of deleted checks need the list."""
        checks = self._cluster_state.checks.items()
        place, name = place_of(incident.check), incident.target.name
        selecting = [check for check, it in checks if place_of(check) == place and name in it.selected]
        incidents = [
            IncidentReference(cluster=incident.cluster, check=check, target=incident.target)
            for check in {incident.check, *selecting}
        ]
        found = [await self._calls.latest_attempts(each) for each in incidents]
        known = [attempts for attempts in found if attempts is not None]
        if len(known) == len(incidents):
            self._attempts.asked(incident.target, chain.from_iterable(known))

    def latest(self, incident: IncidentReference) -> EarlierAttempt | None:
        back_off = self._attempts.before(TargetName.of(incident.target), self._target(incident))
        if back_off.unread:
            return None
        latest = back_off.latest
        if latest is None:
            return EarlierAttempt(number=0)
        return EarlierAttempt(number=latest.number, ended=latest.ended, requested=latest.requested)

    def _target(self, incident: IncidentReference) -> Target | None:
        return self._cluster_state.targets.get(incident.check, incident.target.name)

    async def wait_tried(self) -> None:
        """Return after the first answer or error of Temporal, or after `LONGEST_WAIT`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LONGEST_WAIT.total_seconds()):
                await self._tried.wait()

    async def _read(self) -> None:
        try:
            listed = await self._calls.ended(self._attempts.horizon)
        finally:
            self._tried.set()
        unreadable = next((end.unreadable for end in listed if end.unreadable), None)
        if unreadable is not None:
            raise UnreadablePayload(unreadable)
        for end in sorted(listed, key=lambda end: end.attempt.ended):
            for target, attempt in end.attempts:
                self._attempts.note(target, attempt)
        if self._attempts.unread:
            self._attempts.complete()
            self._cluster_state.notify_all()
