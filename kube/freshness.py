"""Freshness: how recent the proven state of the cache of one kind is. Pure, except for the clock.

A consistent read is answered only after the API server has asked etcd: it returns the version of the kind
when the read was sent, or a later one. A cache that has received all events up to that version is true as of
that time, whichever server sent them and however late. Nothing else proves anything: a server without etcd
still accepts watches and repeats its bookmarks, a lagging one sends old events, and so do the sockets of a
process that was frozen.

The events of a stream are in order: before an event or a bookmark of a version, none is missing.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

_MOST_AWAITED = 8  # reads beyond these are dropped


@dataclass(frozen=True)
class _Read:
    version: str
    sent: float
    answered: float


class Freshness:
    """The freshness of one cache; times are those of `clock`."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._awaited: deque[_Read] = deque(maxlen=_MOST_AWAITED)
        self.position = ""
        """The resourceVersion up to which the cache is complete; "" before the first list."""
        self.as_of: float | None = None
        """The time as of which the cache is true; None before the first list."""

    def age(self) -> timedelta | None:
        """The time since the cache was true; None before the first list."""
        return None if self.as_of is None else timedelta(seconds=self._clock() - self.as_of)

    def listed(self, version: str, sent: float) -> None:
        """Record a complete list whose first page was requested at `sent`; "" is that of an absent kind."""
        self._awaited.clear()
        self.position, self.as_of = version, sent

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
        self.as_of = moment if self.as_of is None else max(self.as_of, moment)


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
