"""Consistent reads, which prove that the cache of a kind is fresh, sent while the kind is watched.

The cheapest consistent read is a list of one object without resourceVersion. Measured on kube-apiserver 1.36:
with etcd stopped it is not answered, while lists at any resourceVersion in the cache are, and watches are
accepted. It is served from the watch cache once etcd has confirmed that the cache is up to date; so the next
bookmark has that version, even if no object of the kind has changed.

It also tells whether a 404 is credible: a load balancer without an API server answers 404, too, and an API
server without etcd does not know of a CRD that was created since.
"""

import asyncio
import random
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

from pydantic import ValidationError

from kube.decoding import ListHead
from kube.errors import Expired, KubernetesError, Malformed, NotFound, Unreachable, retry_after
from kube.resource import NODES
from kube.server_clock import wall_clock
from kube.transport import Query, Transport

_ANSWERED_WITHIN = timedelta(seconds=5)
LOOK_AGAIN = timedelta(seconds=1)
"""How soon a change of the settings to more frequent proofs takes effect."""
_TRY_AGAIN_SECONDS = 1.0  # random up to twice as long; a watch that must last longer ends within seconds then
_MOST_AWAITED = 8  # reads beyond these are dropped


@dataclass(frozen=True)
class _Read:
    version: str
    sent: float
    answered: float


class Freshness:
    """How recent the proven state of the cache of one kind is; times are those of `clock`.

    A consistent read is answered only after the API server has asked etcd: it returns the version of the kind
    when the read was sent, or a later one. A cache that has received all events up to that version is true as
    of that time, from any server and with any delay. Other messages prove nothing: a server without etcd
    still accepts watches and repeats its bookmarks, a lagging server sends old events, and so do the sockets
    of a process that was frozen.

    The events of a stream are in order: before an event or a bookmark of a version, none is missing.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._awaited: deque[_Read] = deque(maxlen=_MOST_AWAITED)
        self.position = ""
        """The resourceVersion up to which the cache is complete; "" before the first list."""
        self.as_of: float | None = None
        """The cache is true as of this time; None before the first list."""
        self.proven_at: datetime | None = None
        """The same by the wall clock."""

    def age(self) -> timedelta | None:
        """The time since the cache was true; None before the first list."""
        return None if self.as_of is None else timedelta(seconds=self._clock() - self.as_of)

    def listed(self, version: str, sent: float) -> None:
        """Record a complete list whose first page was requested at `sent`; "" is that of an absent kind."""
        self._awaited.clear()
        self.position, self.as_of = version, None
        self._true_as_of(sent)

    def read(self, version: str, sent: float) -> None:
        """Record a consistent read that was sent at `sent`: a cache at `version` is true as of then."""
        if has_reached(self.position, version):
            self._true_as_of(sent)
        else:
            self._awaited.append(_Read(version, sent, self._clock()))

    def reached(self, version: str) -> None:
        """Record that a stream has sent everything up to `version`."""
        self.position = version
        while self._awaited and has_reached(version, self._awaited[0].version):
            self._true_as_of(self._awaited.popleft().sent)

    @property
    def is_behind(self) -> bool:
        """True if a read returned a version that no stream has reached yet."""
        return bool(self._awaited)

    def was_behind(self, moment: float) -> bool:
        """True if a read of a version that no stream has reached yet was answered by `moment`."""
        return bool(self._awaited) and self._awaited[0].answered <= moment

    def _true_as_of(self, moment: float) -> None:
        if self.as_of is None or moment > self.as_of:
            self.as_of = moment
            self.proven_at = wall_clock() - timedelta(seconds=self._clock() - moment)


def has_reached(position: str, version: str) -> bool:
    """True if a cache that is complete up to `position` is complete up to `version`.

    resourceVersions of one kind are ordered numbers; others can only be compared for equality.
    """
    reached, wanted = _order(position), _order(version)
    return position == version if reached is None or wanted is None else reached >= wanted


def is_earlier(version: str, position: str) -> bool:
    """True if a server at `version` can never have been at `position`."""
    at, before = _order(version), _order(position)
    return at is not None and before is not None and at < before


def _order(version: str) -> tuple[int, str] | None:
    """The sort key of a decimal resourceVersion of any length; None if it is not decimal.

    int() refuses over 4,300 digits, and a workload API server may send more.
    """
    if not (version.isascii() and version.isdecimal()):
        return None
    digits = version.lstrip("0")
    return len(digits), digits


async def current_version(transport: Transport, path: str, selectors: Query = ()) -> str:
    """The resourceVersion of etcd for the kind of this collection.

    With selectors, rights for objects beyond them are not needed.

    Raises KubernetesError: the request failed.
    """
    query = [("limit", "1"), *selectors]
    answer = await transport.request("GET", path, query=query, timeout=_ANSWERED_WITHIN)
    try:
        return ListHead.model_validate_json(answer).metadata.resource_version
    except ValidationError as error:
        raise Malformed(f"The answer for {path} is no list.", path=path) from error


class ConsistentReads:
    """The reads of one reflector; times are those of `clock`."""

    def __init__(
        self,
        transport: Transport,
        freshness: Freshness,
        every: Callable[[], timedelta],
        clock: Callable[[], float],
        selectors: Query = (),
    ) -> None:
        self._transport = transport
        self._selectors = selectors
        self._freshness = freshness
        self._every = every
        self._clock = clock
        self._sent: float | None = None
        self._is_reading = False
        self.failure: KubernetesError | None = None
        """Why the last read failed; None if it was answered."""

    @property
    def until_due(self) -> timedelta:
        """The time until the next read; zero while the proof by an earlier one is missing."""
        if self._is_reading or self.failure is not None or self._freshness.is_behind:
            return timedelta(0)
        return timedelta(seconds=self._wait)

    @property
    def _wait(self) -> float:
        """The seconds until the interval after the last read, and after the last proof, is over."""
        moments = [moment for moment in (self._freshness.as_of, self._sent) if moment is not None]
        return max(0.0, max(moments) + self._every().total_seconds() - self._clock()) if moments else 0.0

    async def read(self, path: str) -> None:
        """Send a read for the collection at `path`.

        Raises KubernetesError: it was not answered; `Expired` if the server has an earlier version than the
        cache, for example after a restore from a backup.
        """
        before, sent = self._freshness.position, self._clock()
        self._sent = sent
        version = await current_version(self._transport, path, self._selectors)
        if is_earlier(version, before):
            raise Expired(f"{path} is at version {version}, and was at {before} before.", path=path)
        self._freshness.read(version, sent)

    @asynccontextmanager
    async def sent_meanwhile(self, path: str) -> AsyncIterator[None]:
        """Send reads when they are due, for the time of the block."""
        self.failure = None
        reading = asyncio.create_task(self._read_in_time(path), name=f"consistent reads of {path}")
        try:
            yield
        finally:
            reading.cancel()
            await asyncio.wait((reading,))  # awaiting it would confuse our cancellation with its own

    async def _read_in_time(self, path: str) -> None:
        while True:
            if self.failure is not None:
                jitter = 2 * _TRY_AGAIN_SECONDS * random.random()  # noqa: S311  no secret
                await asyncio.sleep(retry_after(self.failure).total_seconds() + jitter)
            elif self._wait > 0:
                await asyncio.sleep(min(self._wait, LOOK_AGAIN.total_seconds()))
                continue  # a proof or a change of the settings may have come
            self._is_reading, failure = True, None
            try:
                await self.read(path)
            except KubernetesError as error:
                failure = error
            finally:
                self._is_reading = False
            self.failure = failure


async def confirm_api_server(transport: Transport) -> None:
    """Return if the server serves Nodes, as etcd holds them now.

    Raises KubernetesError: it does not, or the request failed.
    """
    try:
        await current_version(transport, NODES.path())
    except NotFound as error:
        raise Unreachable(f"What answers is no API server: {error.message}", path=error.path) from error
