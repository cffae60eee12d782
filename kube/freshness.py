"""Freshness: as of when the cache of one kind is true. Pure, but for the clock.

A consistent read is answered only after the API server has asked etcd: it says which version the kind was at
when the read was sent, or later. A cache that has been told all that happened up to that version is true as
of that moment, whichever server told it and however late. Nothing else proves anything: a server that is cut
off from etcd goes on accepting watches and repeats its bookmarks, one that lags tells old events, and so do
the sockets of a process that was frozen.

What a stream tells is in order: after an event or a bookmark of a version nothing before it is missing.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

_MOST_AWAITED = 8  # a stream that is further behind is not worth waiting for


@dataclass(frozen=True)
class _Read:
    version: str
    sent: float
    answered: float


class Freshness:
    """The freshness of one cache; moments are those of `clock`."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._awaited: deque[_Read] = deque(maxlen=_MOST_AWAITED)
        self.position = ""
        """The resourceVersion up to which the cache was told everything; "" before the first list."""
        self.as_of: float | None = None
        """The moment as of which the cache is true; None while there is none."""

    def age(self) -> timedelta | None:
        """Return how long ago the cache was true; None while there is none."""
        return None if self.as_of is None else timedelta(seconds=self._clock() - self.as_of)

    def listed(self, version: str, sent: float) -> None:
        """Note a complete list, whose first page was asked for at `sent`; "" is that of an absent kind."""
        self._awaited.clear()
        self.position, self.as_of = version, sent

    def read(self, version: str, sent: float) -> None:
        """Note a consistent read, sent at `sent`: a cache that is at `version` is true as of then."""
        if has_reached(self.position, version):
            self._true_as_of(sent)
        else:
            self._awaited.append(_Read(version, sent, self._clock()))

    def reached(self, version: str) -> None:
        """Note that a stream told everything up to `version`."""
        self.position = version
        while self._awaited and has_reached(version, self._awaited[0].version):
            self._true_as_of(self._awaited.popleft().sent)

    @property
    def is_behind(self) -> bool:
        """Whether the store was read to be at a version of which no stream has told yet."""
        return bool(self._awaited)

    def was_behind(self, moment: float) -> bool:
        """Return whether a read of which no stream has told yet was answered by `moment`."""
        return bool(self._awaited) and self._awaited[0].answered <= moment

    def _true_as_of(self, moment: float) -> None:
        self.as_of = moment if self.as_of is None else max(self.as_of, moment)


def has_reached(position: str, version: str) -> bool:
    """Return whether who was told everything up to `position` was told everything up to `version`.

    resourceVersions of one kind are numbers in order; of any that are none only equality is known.
    """
    reached, wanted = _order(position), _order(version)
    return position == version if reached is None or wanted is None else reached >= wanted


def is_earlier(version: str, position: str) -> bool:
    """Return whether a server that is at `version` has never been at `position`."""
    at, before = _order(version), _order(position)
    return at is not None and before is not None and at < before


def _order(version: str) -> tuple[int, str] | None:
    """Return what orders decimal resourceVersions of any length; None: it is not decimal.

    int() refuses over 4,300 digits, and a workload API server may send more.
    """
    if not (version.isascii() and version.isdecimal()):
        return None
    digits = version.lstrip("0")
    return len(digits), digits
