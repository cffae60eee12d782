"""ActFindings: what held the latest act on each target, as only the act could see and its incident told.

The disruption budget of etcd, a kind that is not served, what the API server refuses: no watch shows it.
"""

from detector.picture.target_store import place_of
from health.observation import Hold
from health.references import CheckReference
from health.target import TargetPlace


class ActFindings:
    """What is known of the targets that are there."""

    def __init__(self) -> None:
        self._known: dict[tuple[CheckReference, str], Hold] = {}

    def note(self, check: CheckReference, target: str, hold: Hold | None) -> bool:
        """Keep it, None after an act that did its step; answers whether that is new."""
        if self.of(check, target) == hold:
            return False
        if hold is None:
            del self._known[check, target]
        else:
            self._known[check, target] = hold
        return True

    def of(self, check: CheckReference, target: str) -> Hold | None:
        """What held it; None where nothing did."""
        return self._known.get((check, target))

    def forget(self, place: TargetPlace, target: str) -> None:
        """The target is gone."""
        for check, name in [*self._known]:
            if name == target and place_of(check) == place:
                del self._known[check, name]
