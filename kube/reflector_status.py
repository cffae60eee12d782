"""The state of a reflector, and its present problem."""

import asyncio
import logging
from datetime import datetime
from enum import StrEnum

from kube.errors import KubernetesError, RequestRefused
from kube.server_clock import wall_clock

_logger = logging.getLogger(__name__)


class ReflectorState(StrEnum):
    """The activity of a reflector, as its status shows it."""

    STARTING = "Starting"
    LISTING = "Listing"
    WATCHING = "Watching"
    ABSENT = "Absent"
    """The API server does not serve the kind, so an empty cache is correct."""
    WAITING = "Waiting"
    """A request failed, see `problem`; it will be retried."""


class ReflectorStatus:
    """State of one reflector; logs each problem once, when it begins and when it ends."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._logged: str | None = None
        self._complete = asyncio.Event()
        self.synced = False
        """True once there is a complete list."""
        self.state = ReflectorState.STARTING
        self.problem: str | None = None
        self.failing_since: datetime | None = None
        """The first error since the start."""
        self.is_refused = False
        """True if the server refused us (400, 403 or 422) and has accepted no watch since."""

    async def wait_synced(self) -> None:
        """Return when a list is complete and all its changes were reported."""
        await self._complete.wait()

    def listing(self) -> None:
        self.state = ReflectorState.LISTING

    def listed(self) -> None:
        """Record a complete list whose changes are about to be reported."""
        self.synced = True

    def complete(self) -> None:
        """Record a complete list whose changes were all reported."""
        self.synced = True
        self._complete.set()

    def incomplete(self) -> None:
        """Record that there is no complete list any more, or that its report takes long."""
        self.synced = False
        self._complete.clear()

    def accepted(self) -> None:
        """Record an accepted watch, which is no proof of life."""
        self.state = ReflectorState.WATCHING
        self.problem = None
        self.is_refused = False
        if self._logged:
            self._logged = None
            _logger.info("Watching %s again.", self._name)

    def expired(self) -> None:
        """Record a forgotten resourceVersion: the server answers, so earlier problems are over."""
        self.problem = None

    def absent(self, error: KubernetesError) -> None:
        self.is_refused = False
        self._trouble(ReflectorState.ABSENT, error)

    def waiting(self, error: KubernetesError) -> None:
        self.is_refused = self.is_refused or isinstance(error, RequestRefused)
        self._trouble(ReflectorState.WAITING, error)

    def _trouble(self, state: ReflectorState, error: KubernetesError) -> None:
        self.state = state
        self.problem = error.message
        self.failing_since = self.failing_since or wall_clock()
        sort = f"{state} {type(error).__name__}"
        if sort != self._logged:
            self._logged = sort
            _logger.warning("Not watching %s: %s", self._name, error.message)
