"""What a reflector says about itself: how far it is, and what keeps it."""

import asyncio
import logging
from enum import StrEnum

from kube.errors import Forbidden, KubernetesError

_logger = logging.getLogger(__name__)


class State(StrEnum):
    """What a reflector is doing."""

    STARTING = "Starting"
    LISTING = "Listing"
    WATCHING = "Watching"
    ABSENT = "Absent"
    """The API server does not serve the kind: the cache is empty, and that is the truth."""
    WAITING = "Waiting"
    """A request failed, see `problem`; it will try again."""


class ReflectorStatus:
    """State of one reflector; logs each problem once, when it begins and when it ends."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._logged = ""
        self._complete = asyncio.Event()
        self.synced = False
        """Whether there is a complete list."""
        self.state = State.STARTING
        self.problem = ""
        self.is_forbidden = False
        """Whether the server refused us, and did not let us watch since."""

    async def wait_synced(self) -> None:
        """Return when there is a complete list, and all of it was told."""
        await self._complete.wait()

    def listing(self) -> None:
        """Note that a list was asked for."""
        self.state = State.LISTING

    def listed(self) -> None:
        """Note that there is a complete list, which is about to be told."""
        self.synced = True

    def complete(self) -> None:
        """Note that there is a complete list, and all of it was told."""
        self.synced = True
        self._complete.set()

    def incomplete(self) -> None:
        """Note that there is no complete list any more, or that its telling takes long."""
        self.synced = False
        self._complete.clear()

    def accepted(self) -> None:
        """Note that a watch was accepted, which is no proof of life."""
        self.state = State.WATCHING
        self.problem = ""
        self.is_forbidden = False
        if self._logged:
            self._logged = ""
            _logger.info("Watching %s again.", self._name)

    def expired(self) -> None:
        """Note that the server forgot a resourceVersion: it answers, and what was wrong before is over."""
        self.problem = ""

    def absent(self, error: KubernetesError) -> None:
        """Note that the kind is not served."""
        self.is_forbidden = False
        self._trouble(State.ABSENT, error)

    def waiting(self, error: KubernetesError) -> None:
        """Note that a request failed."""
        self.is_forbidden = self.is_forbidden or isinstance(error, Forbidden)
        self._trouble(State.WAITING, error)

    def _trouble(self, state: State, error: KubernetesError) -> None:
        self.state = state
        self.problem = error.message
        sort = f"{state} {type(error).__name__}"
        if sort != self._logged:
            self._logged = sort
            _logger.warning("Not watching %s: %s", self._name, error.message)
