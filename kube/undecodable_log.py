"""UndecodableLog: logs the undecodable objects of one source at a bounded rate.

Another writer decides how often an undecodable object changes, decodes again, or gets a new name. So
ObjectStore reports an object once until it decodes again, and the log has at most ten lines at once and ten a
minute.
"""

import logging
from collections.abc import Callable, Sequence

from kube.decoding import Undecodable
from kube.rate_limiter import RateLimiter
from kube.record import Key

MOST_LINES_AT_ONCE = 10
SECONDS_FOR_A_LINE = 6.0
MOST_NAMED = 5
"""The most objects with their errors in one line."""

_logger = logging.getLogger(__name__)


class UndecodableLog:
    """The log lines about one source of objects; `clock` returns seconds of a steady clock."""

    def __init__(self, source: str, clock: Callable[[], float]) -> None:
        self._source = source
        self._rate_limiter = RateLimiter(MOST_LINES_AT_ONCE, 1 / SECONDS_FOR_A_LINE, clock)
        self._omitted = 0
        """The objects without a line since the last line."""

    def add(self, new: Sequence[Undecodable]) -> None:
        """Log objects that stopped decoding in one line, or count them for the next line."""
        if not new or not self._rate_limiter.allow():
            self._omitted += len(new)
            return
        count, self._omitted = len(new) + self._omitted, 0
        named = [f"{_name(failure.key)}: {failure.error}" for failure in new[:MOST_NAMED]]
        more = f"; and {count - len(named)} more" if count > len(named) else ""
        _logger.warning(
            "%d of %s do not decode and are left out: %s%s", count, self._source, "; ".join(named), more
        )


def _name(key: Key) -> str:
    return "/".join(part for part in key if part)
