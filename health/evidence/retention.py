"""Retention: which evidence is deleted, so that etcd does not fill. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

MOST_AT_ONCE = 10
"""Deletions after each save: more than one, so that they keep up, and few, so that they are quick."""


class StoredEvidence(NamedTuple):
    """One ConfigMap with evidence, and its age."""

    name: str
    created: datetime


@dataclass(frozen=True)
class Retention:
    """The number of pieces of evidence to keep, and for how long."""

    most: int
    longest: timedelta

    def over(self, kept: Iterable[StoredEvidence], now: datetime, newest: str = "") -> list[str]:
        """The names to delete now, the oldest first.

        Timestamps of API servers have whole seconds, so `newest` is never deleted in favour of another one.
        """
        newest_first = sorted(
            kept, key=lambda stored: (stored.name == newest, stored.created, stored.name), reverse=True
        )
        old = [
            stored
            for place, stored in enumerate(newest_first)
            if place >= self.most or now - stored.created > self.longest
        ]
        return [stored.name for stored in reversed(old)][:MOST_AT_ONCE]
