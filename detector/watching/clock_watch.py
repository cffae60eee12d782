"""ClockWatch: the detector's clock beside the API server's, looked at every second.

Between two answers of the API server nothing else would notice that the clock was set back.
"""

import asyncio
import logging
from collections.abc import Callable
from enum import Enum, auto

from health.gate.clock_skew import ClockReading, clock_hold, clock_warning
from health.model.observation import Hold
from kube.server_clock import ServerClock

LOOK_AGAIN_SECONDS = 1.0

_log = logging.getLogger(__name__)


class _Standing(Enum):
    RIGHT = auto()
    WARNED = auto()
    HELD = auto()


class ClockWatch:
    """The clock of one detector; logs what is wrong with it once per transition."""

    def __init__(self, server_clock: ServerClock, changed: Callable[[], None]) -> None:
        """`changed` is called when it begins to hold all checks, and when it ends to."""
        self._server_clock = server_clock
        self._changed = changed
        self._standing = _Standing.RIGHT

    def reading(self) -> ClockReading:
        """Both clocks now."""
        clock = self._server_clock
        set_back = clock.set_back()
        if set_back is None:
            return ClockReading(clock.skew(), clock.age())
        return ClockReading(clock.skew(), clock.age(), set_back.by, set_back.age)

    def hold(self) -> Hold | None:
        """Why nothing that rests on time can be told now."""
        return clock_hold(self.reading())

    async def run(self) -> None:
        """Watch until cancelled."""
        while True:
            self.look()
            await asyncio.sleep(LOOK_AGAIN_SECONDS)

    def look(self) -> None:
        """Tell of what changed since the last look."""
        self._server_clock.look()
        reading = self.reading()
        hold, warning = clock_hold(reading), clock_warning(reading)
        before, self._standing = self._standing, _standing(hold, warning)
        if self._standing is before:
            return
        if self._standing is _Standing.RIGHT:
            _log.info("the detector's clock is right again")
        else:
            consequence = "nothing is decided" if hold else "deadlines are judged by a clock that is off"
            _log.warning(consequence, extra={"problem": hold.message if hold else warning})
        if _Standing.HELD in (before, self._standing):
            self._changed()


def _standing(hold: Hold | None, warning: str) -> _Standing:
    if hold is not None:
        return _Standing.HELD
    return _Standing.WARNED if warning else _Standing.RIGHT
