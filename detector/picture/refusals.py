"""Refusals: why the API server refused the latest request for a target, as its incident told."""

from detector.picture.target_store import place_of
from health.references import CheckReference
from health.target import TargetPlace


class Refusals:
    """What is known of the targets that are there."""

    def __init__(self) -> None:
        self._known: dict[tuple[CheckReference, str], str] = {}

    def note(self, check: CheckReference, target: str, why: str) -> bool:
        """Keep why, "" for a request that was not refused; answers whether that is new."""
        if self.of(check, target) == why:
            return False
        self._known[check, target] = why
        return True

    def of(self, check: CheckReference, target: str) -> str:
        """Why; "" where none was refused."""
        return self._known.get((check, target), "")

    def forget(self, place: TargetPlace, target: str) -> None:
        """The target is gone."""
        for check, name in [*self._known]:
            if name == target and place_of(check) == place:
                del self._known[check, name]
