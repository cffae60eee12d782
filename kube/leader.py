"""Leader election by a Lease, judged by monotonic clocks alone.

The leader considers itself leader until `renew_deadline` after the *sending* of its last successful renewal.
Others take the Lease over when they have not seen it change for its whole duration, by their own clock. As
renew_deadline is shorter than lease_duration, there are never two leaders, whatever the wall clocks show and
however long a process hangs. Timestamps in the Lease are only for people.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from kube.client import Client
from kube.errors import AlreadyExists, KubernetesError, none_if_absent
from kube.lease import LeaseRecord, new_lease, released, renewed, taken_over
from kube.resource import LEASES, Object
from kube.retry_on_conflict import retry_on_conflict
from kube.server_clock import monotonic_clock, wall_clock

_logger = logging.getLogger(__name__)


class Leadership:
    """The leadership of one process by a monotonic clock, and its present or last term.

    It ends by itself at its deadline. The election extends it; other parts read it, and need not know the
    election. A term begins with the leadership, and lasts until the election notices the end.
    """

    def __init__(
        self, clock: Callable[[], float] = monotonic_clock, now: Callable[[], datetime] = wall_clock
    ) -> None:
        """`now` dates the begin of a term."""
        self.clock = clock
        self._now = now
        self._until = clock()
        self.led_until: datetime | None = None
        """When the previous leader last renewed, by its own clock; None if there was no Lease."""
        self._began = now()
        self._in_term = asyncio.Event()
        self._term_is_over = asyncio.Event()

    def is_leader(self) -> bool:
        """True if this process leads at this very moment, even if the event loop was blocked until now."""
        return self.clock() < self._until

    @property
    def seconds_left(self) -> float:
        """Seconds until the deadline; zero or less for a process that does not lead."""
        return self._until - self.clock()

    def extend(self, until: float) -> None:
        """Lead until this time of the clock; a time that is over ends the leadership."""
        self._until = until

    def note_previous(self, led_until: datetime | None) -> None:
        self.led_until = led_until

    @property
    def is_in_term(self) -> bool:
        """True from the begin of a term until the election notices its end, even after the deadline."""
        return self._in_term.is_set()

    def begin_term(self) -> None:
        self._began = self._now()
        self._term_is_over.clear()
        self._in_term.set()

    def end_term(self) -> None:
        self._in_term.clear()
        self._term_is_over.set()

    def since(self) -> datetime | None:
        """When this process became the leader; None for a standby."""
        return self._began if self.is_leader() else None

    async def wait_begun(self) -> None:
        await self._in_term.wait()

    async def wait_over(self) -> None:
        await self._term_is_over.wait()


@dataclass(frozen=True)
class LeaseTimes:
    """The times of an election, by the monotonic clock of each candidate."""

    duration: timedelta = timedelta(seconds=15)
    """Others take the Lease over when it did not change for so long."""
    renew_deadline: timedelta = timedelta(seconds=10)
    """How long a leader leads after its last renewal."""
    retry_period: timedelta = timedelta(seconds=2)

    def __post_init__(self) -> None:
        if not self.retry_period < self.renew_deadline < self.duration:
            raise ValueError("A leader election needs retry_period < renew_deadline < duration.")


LEASE_TIMES = LeaseTimes()


class LeaderElection:
    """One candidate. `identity` must be unique: another process with it would count as this one.

    `run` calls `on_started` and `on_stopped` in turn. Between these calls use `Leadership.is_leader`: it
    turns False at the deadline by itself, even if the event loop was blocked and no callback could run.
    """

    def __init__(  # noqa: PLR0913  the Lease, the own identity, and the callbacks
        self,
        client: Client,
        namespace: str,
        name: str,
        identity: str,
        leadership: Leadership,
        *,
        times: LeaseTimes = LEASE_TIMES,
        on_started: Callable[[], None] = lambda: None,
        on_stopped: Callable[[], None] = lambda: None,
        gives_way: Callable[[], bool] = lambda: False,
        now: Callable[[], datetime] = wall_clock,
    ) -> None:
        """While `gives_way` returns True, another process is to lead, and this one does not stand."""
        self._client = client
        self._namespace = namespace
        self._name = name
        self._identity = identity
        self._leadership = leadership
        self._times = times
        self._on_started = on_started
        self._on_stopped = on_stopped
        self._gives_way = gives_way
        self._clock = leadership.clock
        self._now = now
        self._failing = False
        self.problem: str | None = None
        """The problem of the last round, if the Lease could not be reached; None if it could."""
        self._ours: LeaseRecord | None = None  # after our last write
        self._seen_version: str | None = None
        self._seen_at = self._clock()

    async def run(self) -> None:
        """Stand for election until cancelled; then stop leading, and release the Lease."""
        try:
            while True:
                await (self._leave() if self._gives_way() else self._round())
                await asyncio.sleep(min(self._times.retry_period.total_seconds(), self._patience()))
                self._stop_if_over()
        finally:
            await self._leave()

    async def _leave(self) -> None:
        """Stop leading, and release the Lease if it is ours."""
        self._leadership.extend(self._clock())
        self._ours = None
        self._stop_if_over()

        async def release_if_held() -> None:
            lease = await self._find()
            if lease is not None and lease.spec.holder_identity == self._identity:
                await self._write(released(lease, self._now()))

        try:
            async with asyncio.timeout(self._times.retry_period.total_seconds()):
                # Twice: an interrupted renewal may arrive after our read.
                await retry_on_conflict(release_if_held, tries=2)
        except (KubernetesError, TimeoutError) as error:
            _logger.info("The leader Lease could not be released, and expires by itself: %s", error)

    async def _round(self) -> None:
        sent = self._clock()
        try:
            async with asyncio.timeout(self._patience()):
                # A Lease that changed after our last read is read again at once: another process may lead.
                holds = await retry_on_conflict(self._try, tries=2, may_vanish=True)
        except (KubernetesError, TimeoutError) as error:
            # The state of the Lease is unknown: leadership lasts until its deadline, and no longer.
            self.problem = str(error) or "The Lease of the leader was not answered in time."
            if not self._failing:
                self._failing = True
                _logger.warning("The Lease of the leader cannot be reached: %s", self.problem)
        else:
            self._failing = False
            self.problem = None
            self._leadership.extend(sent + self._renew_deadline if holds else sent)
            if holds and self._leadership.is_leader() and not self._leadership.is_in_term:
                self._leadership.begin_term()
                _logger.info("%s leads now.", self._identity)
                self._on_started()
        self._stop_if_over()

    def _patience(self) -> float:
        leadership = self._leadership
        return leadership.seconds_left if leadership.is_leader() else self._renew_deadline

    @property
    def _renew_deadline(self) -> float:
        return self._times.renew_deadline.total_seconds()

    def _stop_if_over(self) -> None:
        if self._leadership.is_in_term and not self._leadership.is_leader():
            self._leadership.end_term()
            _logger.info("%s does not lead any more.", self._identity)
            self._on_stopped()

    async def _try(self) -> bool:
        # After our last write; a failed try forgets it.
        known, self._ours = self._ours, None
        lease = known or await self._find()
        if not self._leadership.is_in_term:
            renewed_at = None if lease is None else lease.spec.renew_time
            # A person deleted the Lease or its time. Another process may have led until now.
            is_unknown = renewed_at is None and (lease is not None or self._seen_version is not None)
            self._leadership.note_previous(self._now() if is_unknown else renewed_at)
        if lease is None:
            name, namespace, duration = self._name, self._namespace, self._times.duration
            body = new_lease(name, namespace, self._identity, duration=duration, now=self._now(), owner=None)
            try:
                self._ours = LeaseRecord.read(await self._client.create(LEASES, body, namespace))
            except AlreadyExists:
                return False  # another candidate has created it
            return True
        if lease.metadata.resource_version != self._seen_version:
            self._seen_version, self._seen_at = lease.metadata.resource_version, self._clock()
        holder, seconds = lease.spec.holder_identity, lease.spec.lease_duration_seconds
        is_over = self._clock() - self._seen_at > (seconds or self._times.duration.total_seconds())
        if holder == self._identity:
            await self._write(renewed(lease, self._times.duration, self._now()))
        elif not holder or is_over:
            await self._write(taken_over(lease, self._identity, self._times.duration, self._now(), None))
        else:
            return False
        return True

    async def _find(self) -> LeaseRecord | None:
        found = await none_if_absent(self._client.get(LEASES, self._name, self._namespace))
        return None if found is None else LeaseRecord.read(found)

    async def _write(self, patch: Object) -> None:
        patch["metadata"]["labels"] = dict(self._client.labels)  # another name may have led before
        answer = await self._client.merge_patch(LEASES, self._name, patch, self._namespace)
        self._ours = LeaseRecord.read(answer)
