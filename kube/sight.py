"""What a reflector says about itself: how far it is, how old its picture is, and what keeps it."""

import asyncio
import logging
from collections.abc import Callable
from datetime import timedelta
from enum import StrEnum

from kube.errors import Forbidden, KubernetesError

_logger = logging.getLogger(__name__)

# A watch from a resourceVersion that is too old is accepted first, and refused in its first line.
_SETTLING_SECONDS = 1.0


class State(StrEnum):
    """What a reflector is doing."""

    STARTING = "Starting"
    LISTING = "Listing"
    WATCHING = "Watching"
    ABSENT = "Absent"
    """The API server does not serve the kind: the picture is empty, and that is the truth."""
    WAITING = "Waiting"
    """A request failed, see `problem`; it will try again."""


class Sight:
    """State of one reflector; logs each problem once, when it begins and when it ends."""

    def __init__(self, name: str, clock: Callable[[], float]) -> None:
        self._name = name
        self._clock = clock
        self._alive_at: float | None = None
        self._accepted_at: float | None = None  # of a watch that has said nothing yet
        self._logged = ""
        self._complete = asyncio.Event()
        self.state = State.STARTING
        self.problem = ""
        self.is_forbidden = False
        """Whether the server refused us, and did not let us watch since."""

    @property
    def synced(self) -> bool:
        """Whether there is a complete list."""
        return self._complete.is_set()

    async def wait_synced(self) -> None:
        """Return when there is a complete list."""
        await self._complete.wait()

    def age(self) -> timedelta | None:
        """Return how old the picture may be; None while there is none."""
        self._settle()
        return None if self._alive_at is None else timedelta(seconds=self._clock() - self._alive_at)

    def alive(self, since: float | None = None) -> None:
        """Note that the picture is true as of now, or as of `since` by the clock."""
        self._accepted_at = None
        self._alive_at = self._clock() if since is None else since

    def complete(self) -> None:
        """Note that there is a complete list."""
        self._complete.set()

    def incomplete(self) -> None:
        """Note that what was complete is not any more."""
        self._complete.clear()

    def accepted(self) -> None:
        """Note that a watch was accepted; if it is not refused within a second, that was a proof of life."""
        self._settle()
        self._accepted_at = self._clock()
        self.state = State.WATCHING
        self.problem = ""
        self.is_forbidden = False
        if self._logged:
            self._logged = ""
            _logger.info("Watching %s again.", self._name)

    def expired(self) -> None:
        """Note that the server forgot a resourceVersion: it answers, and what was wrong before is over."""
        self._settle()
        self._accepted_at = None
        self.problem = ""

    def absent(self, error: KubernetesError) -> None:
        """Note that the kind is not served."""
        self.is_forbidden = False
        self._trouble(State.ABSENT, error)

    def waiting(self, error: KubernetesError) -> None:
        """Note that a request failed."""
        self.is_forbidden = self.is_forbidden or isinstance(error, Forbidden)
        self._trouble(State.WAITING, error)

    def _settle(self) -> None:
        if self._accepted_at is not None and self._clock() - self._accepted_at >= _SETTLING_SECONDS:
            self._alive_at, self._accepted_at = self._accepted_at, None

    def _trouble(self, state: State, error: KubernetesError) -> None:
        self._settle()
        self._accepted_at = None
        self.state = state
        self.problem = error.message
        sort = f"{state} {type(error).__name__}"
        if sort != self._logged:
            self._logged = sort
            _logger.warning("Not watching %s: %s", self._name, error.message)
