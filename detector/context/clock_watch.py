"""ClockWatch: compares the detector's clock with the API server's every second.

Between two answers of the API server only this watch notices that the clock was set back.
"""

import asyncio
import logging
from collections.abc import Callable
from enum import Enum, auto

from health.cluster.clock_skew import ClockReading, clock_hold, clock_warning
from health.model.observation import Hold
from kube.server_clock import ServerClock

LOOK_AGAIN_SECONDS = 1.0

_log = logging.getLogger(__name__)


class _Standing(Enum):
    RIGHT = auto()
    WARNED = auto()
    HELD = auto()


class ClockWatch:
    """The clock of one detector; logs its problem once per transition."""

    def __init__(self, server_clock: ServerClock, changed: Callable[[], None]) -> None:
        """`changed` is called when the clock begins and when it stops to hold all checks."""
        self._server_clock = server_clock
        self._changed = changed
        self._standing = _Standing.RIGHT

    def reading(self) -> ClockReading:
        clock = self._server_clock
        set_back = clock.set_back()
        if set_back is None:
            return ClockReading(clock.skew(), clock.age())
        return ClockReading(clock.skew(), clock.age(), set_back.by, set_back.age)

    def hold(self) -> Hold | None:
        """Why deadlines cannot be judged now; None if the clock is right."""
        return clock_hold(self.reading())

    async def run(self) -> None:
        while True:
            self.look()
            await asyncio.sleep(LOOK_AGAIN_SECONDS)

    def look(self) -> None:
        """Compare the clocks, and log and notify of a change since the last look."""
        self._server_clock.look()
        reading = self.reading()
        hold, warning = clock_hold(reading), clock_warning(reading)
        before = self._standing
        if hold is not None:
            self._standing = _Standing.HELD
        else:
            self._standing = _Standing.WARNED if warning else _Standing.RIGHT
        if self._standing is before:
            return
        if self._standing is _Standing.RIGHT:
            _log.info("the detector's clock is right again")
        else:
            consequence = "nothing is decided" if hold else "deadlines are judged by a clock that is off"
            _log.warning(consequence, extra={"problem": hold.message if hold else warning})
        if _Standing.HELD in (before, self._standing):
            self._changed()
