"""Retention: which evidence is deleted, so that etcd and disks do not fill. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

MOST_AT_ONCE = 10
"""Deleted after each saving: more than comes, and never long."""


class Kept(NamedTuple):
    """One ConfigMap or file."""

    name: str
    created: datetime


@dataclass(frozen=True)
class Retention:
    """How much is kept, and for how long."""

    most: int
    longest: timedelta

    def over(self, kept: Iterable[Kept], now: datetime, newest: str = "") -> list[str]:
        """The names of what goes now, the oldest first; API servers tell times by the second alone."""
        newest_first = sorted(kept, key=lambda one: (one.name == newest, one.created, one.name), reverse=True)
        old = [
            one
            for place, one in enumerate(newest_first)
            if place >= self.most or now - one.created > self.longest
        ]
        return [one.name for one in reversed(old)][:MOST_AT_ONCE]
