"""ActFindings: what held the latest act on each target, as only the act could see and its incident told.

The disruption budget of etcd, a Lease taken a moment ago, what the API server answers to a request: no
watch shows it. It is known of unhealthy targets alone, each by its uid; and who begins to lead
knows nothing before the incidents have asked, which they do at once.
"""

from dataclasses import dataclass

from health.model.observation import Hold
from health.model.references import CheckReference


@dataclass(frozen=True)
class _Heard:
    """What the incident of one uid told."""

    uid: str
    hold: Hold | None


class ActFindings:
    """What is known, by check and name of the target."""

    def __init__(self) -> None:
        self._heard: dict[tuple[CheckReference, str], _Heard] = {}

    def note(self, check: CheckReference, target: str, uid: str, hold: Hold | None) -> bool:
        """Keep what the incident of a target tells; answers whether that is new."""
        before = self._heard.get((check, target))
        self._heard[check, target] = _Heard(uid, hold)
        return before != _Heard(uid, hold)

    def of(self, check: CheckReference, target: str, uid: str) -> Hold | None:
        """What held it; None where nothing did, or nobody told yet."""
        heard = self._heard.get((check, target))
        return heard.hold if heard is not None and heard.uid == uid else None

    def is_heard(self, check: CheckReference, target: str, uid: str) -> bool:
        """Whether its incident has told what it knows."""
        heard = self._heard.get((check, target))
        return heard is not None and heard.uid == uid

    def overcome(self, check: CheckReference, target: str) -> None:
        """A request of the check for the target appeared: its act did the step."""
        heard = self._heard.get((check, target))
        if heard is not None:
            self._heard[check, target] = _Heard(heard.uid, None)

    def keep_only(self, check: CheckReference, target: str, uid: str) -> None:
        """Only the object of this uid is unhealthy now; "" is none."""
        if not self.is_heard(check, target, uid):
            self._heard.pop((check, target), None)

    def forget(self, check: CheckReference) -> None:
        """The check is gone."""
        for key in [key for key in self._heard if key[0] == check]:
            del self._heard[key]

    def clear(self) -> None:
        """The lead begins: what incidents told before may be long ago."""
        self._heard.clear()
