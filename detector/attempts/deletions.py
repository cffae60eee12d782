"""Deletions: an unhealthy target that is being deleted is a remediation, which its owner's next ones follow.

Whoever deleted it: a person who does so between two of ours is part of the row (decision 14). But one that
was healthy until then was no remediation, whatever its end makes of it: it must have been seen unhealthy
before, or say itself that it was.
"""

from collections.abc import Callable
from datetime import datetime

from detector.attempts.attempts import Attempts
from detector.picture.picture import Picture
from detector.picture.target_store import place_of
from health.health_check import HealthCheck, InvalidCheckError
from health.references import CheckReference
from health.target import Target
from health.verdict import Fact

Sees = Callable[[CheckReference], bool]
"""Whether all that the numbers of a check rest on was read."""
_Name = tuple[CheckReference, str]


class Deletions:
    """Tells the attempts of one detector what the picture shows."""

    def __init__(self, picture: Picture, attempts: Attempts, sees: Sees, now: Callable[[], datetime]) -> None:
        self._picture = picture
        self._attempts = attempts
        self._sees = sees
        self._now = now
        self._failed: dict[_Name, datetime] = {}
        """Since when those are unhealthy that nobody deletes yet."""
        self._noted: dict[_Name, str] = {}
        """The individuals whose deletion was noted, and that are not gone yet."""
        picture.subscribe(self._changed)

    def _changed(self, check: CheckReference, target: str | None) -> None:
        if target is None:
            return
        judge, seen = self._picture.checks.get(check), self._picture.targets.get(check, target)
        if judge is None or isinstance(judge.check, InvalidCheckError) or seen is None:
            self._forget((check, target))
            return
        # Of one that is not selected any more nothing is so by this check.
        fact = self._fact(judge.check, seen) if target in judge.unhealthy else None
        if seen.metadata.deletion_timestamp is None:
            self._see((check, target), fact)
        else:
            self._see_going((check, target), seen, fact)

    def _fact(self, check: HealthCheck, seen: Target) -> Fact | None:
        return check.verdict(seen, self._now(), self._picture.surroundings).fact

    def _forget(self, name: _Name) -> None:
        self._failed.pop(name, None)
        self._noted.pop(name, None)

    def _see(self, name: _Name, fact: Fact | None) -> None:
        self._forget(name)
        if fact is not None:
            self._failed[name] = fact.since

    def _see_going(self, name: _Name, seen: Target, fact: Fact | None) -> None:
        failed = self._failed.pop(name, None) or _before_its_end(seen, fact)
        # Once: its own deletion may look like one that it came after.
        if failed is None or self._noted.get(name) == seen.metadata.uid or not self._sees(name[0]):
            return
        self._noted[name] = seen.metadata.uid
        self._attempts.deleted(seen, place_of(name[0]), failed)


def _before_its_end(seen: Target, fact: Fact | None) -> datetime | None:
    """Since when it failed, if that was before it was deleted; a time that moves tells nothing."""
    deleted = seen.metadata.deletion_timestamp
    if fact is None or fact.is_moving or deleted is None or fact.since >= deleted:
        return None
    return fact.since
