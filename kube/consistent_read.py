"""Consistent reads: what proves that the cache of a kind is fresh, sent in time while the kind is watched.

The cheapest consistent read is a list of one object without resourceVersion. Measured on kube-apiserver 1.36:
with etcd stopped it is not answered, while lists of any resourceVersion that the cache has reached are, and
watches are accepted. It is served from the watch cache, once that was told by etcd that it is up to date; so
the bookmark that follows is at that version, also where nothing happened to the kind.

It also tells whether a 404 can be believed: a load balancer without an API server behind it says 404, too,
and an API server that is cut off from etcd does not know of a CRD that was made since.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

from pydantic import ValidationError

from kube.decoding import ListHead
from kube.errors import Expired, KubernetesError, Malformed, NotFound, Unreachable, retry_after
from kube.freshness import Freshness, is_earlier
from kube.resource import NODES
from kube.transport import Query, Transport

_ANSWERED_WITHIN = timedelta(seconds=5)
LOOK_AGAIN = timedelta(seconds=1)
"""So long after the settings ask for proofs more often, one is asked for."""
_TRY_AGAIN_SECONDS = 1.0  # at random up to twice as long; a watch that lasts ends within seconds then


async def current_version(transport: Transport, path: str, selectors: Query = ()) -> str:
    """Return the resourceVersion that etcd is at, as far as the kind of this collection is concerned.

    With selectors we need no right to see what they leave out.

    Raises KubernetesError: it could not be asked.
    """
    query = [("limit", "1"), *selectors]
    answer = await transport.request("GET", path, query=query, timeout=_ANSWERED_WITHIN)
    try:
        return ListHead.model_validate_json(answer).metadata.resource_version
    except ValidationError as error:
        raise Malformed(f"The answer for {path} is no list.", path=path) from error


class ConsistentReads:
    """The reads of one reflector; moments are those of `clock`."""

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
        """Why the last one failed; None if it was answered."""

    @property
    def until_due(self) -> timedelta:
        """How long until the next one is to be sent; nothing while the proof by an earlier one is missing."""
        if self._is_reading or self.failure is not None or self._freshness.is_behind:
            return timedelta(0)
        return timedelta(seconds=self._wait)

    @property
    def _wait(self) -> float:
        """How long until so long has passed since the last one, and since what is proven."""
        moments = [moment for moment in (self._freshness.as_of, self._sent) if moment is not None]
        return max(0.0, max(moments) + self._every().total_seconds() - self._clock()) if moments else 0.0

    async def read(self, path: str) -> None:
        """Send one for the collection at `path`.

        Raises KubernetesError: it was not answered; `Expired` if the server is at an earlier version than the
        cache, as one that was restored from a backup is.
        """
        before, sent = self._freshness.position, self._clock()
        self._sent = sent
        version = await current_version(self._transport, path, self._selectors)
        if is_earlier(version, before):
            raise Expired(f"{path} is at version {version}, and was at {before} before.", path=path)
        self._freshness.read(version, sent)

    @asynccontextmanager
    async def sent_meanwhile(self, path: str) -> AsyncIterator[None]:
        """Send them when they are due, for the time of the block."""
        self.failure = None
        reading = asyncio.create_task(self._read_in_time(path), name=f"consistent reads of {path}")
        try:
            yield
        finally:
            reading.cancel()
            await asyncio.wait((reading,))  # to await it would take our own end for its

    async def _read_in_time(self, path: str) -> None:
        while True:
            if self.failure is not None:
                await asyncio.sleep(_wait_after(self.failure))
            elif self._wait > 0:
                await asyncio.sleep(min(self._wait, LOOK_AGAIN.total_seconds()))
                continue  # a proof may have come meanwhile, or the settings ask for one earlier
            self.failure = await self._try(path)

    async def _try(self, path: str) -> KubernetesError | None:
        self._is_reading = True
        try:
            await self.read(path)
        except KubernetesError as error:
            return error
        finally:
            self._is_reading = False
        return None


def _wait_after(error: KubernetesError) -> float:
    jitter = 2 * _TRY_AGAIN_SECONDS * random.random()  # noqa: S311  no secret
    return retry_after(error).total_seconds() + jitter


async def confirm_api_server(transport: Transport) -> None:
    """Return if the server serves what every API server serves, as etcd holds it now.

    Raises KubernetesError: it does not, or it could not be asked.
    """
    try:
        await current_version(transport, NODES.path())
    except NotFound as error:
        raise Unreachable(f"What answers is no API server: {error.message}", path=error.path) from error
