"""Deletions: an unhealthy target that is being deleted is a remediation, which its owner's next ones follow.

Whoever deleted it: a person who does so between two of ours is part of the row (decision 14).
"""

from collections.abc import Callable
from datetime import datetime

from detector.attempts import Attempts
from detector.picture import Picture
from detector.target_store import place_of
from health.health_check import InvalidCheckError
from health.references import CheckReference


class Deletions:
    """Tells the attempts of one detector what the picture shows."""

    def __init__(self, picture: Picture, attempts: Attempts, now: Callable[[], datetime]) -> None:
        self._picture = picture
        self._attempts = attempts
        self._now = now
        picture.subscribe(self._changed)

    def _changed(self, check: CheckReference, target: str | None) -> None:
        judge = self._picture.checks.get(check)
        if target is None or judge is None or isinstance(judge.check, InvalidCheckError):
            return
        seen = self._picture.targets.get(check, target)
        if seen is None or seen.metadata.deletion_timestamp is None or target not in judge.unhealthy:
            return
        fact = judge.check.verdict(seen, self._now(), self._picture.surroundings).fact
        if fact is not None:
            self._attempts.deleted(seen, place_of(check), fact.since)
