"""The reports of incidents with their questions: the hold of the latest act, and the progress of approvals.

The cluster shows neither. Reports are kept for unhealthy targets only, each by its uid. A new leader has none
until the incidents have asked, which they do at once; until then a step that needs an approval is held.
"""

from dataclasses import dataclass

from health.model.approval import Progress
from health.model.observation import Hold
from health.model.references import CheckReference

_UNKNOWN = Progress()


class ReportedProgress:
    """The latest progress, by check and name of the target."""

    def __init__(self) -> None:
        self._reported: dict[tuple[CheckReference, str], tuple[str, Progress]] = {}

    def frozen(self) -> "ReportedProgress":
        copied = ReportedProgress()
        copied._reported = dict(self._reported)
        return copied

    def note(self, check: CheckReference, target: str, uid: str, progress: Progress) -> bool:
        """Keep the progress of the incident of this uid; returns whether it changed."""
        before = self._reported.get((check, target))
        if progress == _UNKNOWN:
            self._reported.pop((check, target), None)
            return before is not None
        self._reported[check, target] = uid, progress
        return before != (uid, progress)

    def of(self, check: CheckReference, target: str, uid: str) -> Progress:
        """The progress that the incident of this uid reported."""
        known, progress = self._reported.get((check, target), ("", _UNKNOWN))
        return progress if known == uid else _UNKNOWN

    def keep_only(self, check: CheckReference, target: str, uid: str) -> None:
        """Drop the progress unless it is of this uid, the unhealthy object; "" drops it always."""
        known, _ = self._reported.get((check, target), ("", _UNKNOWN))
        if known != uid:
            self._reported.pop((check, target), None)

    def forget(self, check: CheckReference) -> None:
        for key in [key for key in self._reported if key[0] == check]:
            del self._reported[key]

    def clear(self) -> None:
        self._reported.clear()


@dataclass(frozen=True)
class _Heard:
    """The finding that the incident of one uid reported."""

    uid: str
    hold: Hold | None


class ActFindings:
    """The latest holds of acts that only the act could see, by check and name of the target.

    No watch shows the disruption budget of etcd, a Lease taken a moment ago, or the API server's answer to a
    request.
    """

    def __init__(self) -> None:
        self._heard: dict[tuple[CheckReference, str], _Heard] = {}

    def frozen(self) -> "ActFindings":
        findings = ActFindings()
        findings._heard = dict(self._heard)
        return findings

    def note(self, check: CheckReference, target: str, uid: str, hold: Hold | None) -> bool:
        """Keep the finding of an incident, None for none; returns whether it changed."""
        before = self._heard.get((check, target))
        self._heard[check, target] = _Heard(uid, hold)
        return before != _Heard(uid, hold)

    def of(self, check: CheckReference, target: str, uid: str) -> Hold | None:
        """The hold that the incident of this uid reported; None without a hold or a report."""
        heard = self._heard.get((check, target))
        return heard.hold if heard is not None and heard.uid == uid else None

    def is_heard(self, check: CheckReference, target: str, uid: str) -> bool:
        """True if the incident of this uid has reported."""
        heard = self._heard.get((check, target))
        return heard is not None and heard.uid == uid

    def overcome(self, check: CheckReference, target: str) -> None:
        """Drop the hold: a request of the check for the target appeared, so its act took the step."""
        heard = self._heard.get((check, target))
        if heard is not None:
            self._heard[check, target] = _Heard(heard.uid, None)

    def keep_only(self, check: CheckReference, target: str, uid: str) -> None:
        """Drop the finding unless it is of this uid, the unhealthy object; "" drops it always."""
        if not self.is_heard(check, target, uid):
            self._heard.pop((check, target), None)

    def forget(self, check: CheckReference) -> None:
        for key in [key for key in self._heard if key[0] == check]:
            del self._heard[key]

    def clear(self) -> None:
        """Forget everything: leadership begins, and the known findings may be old."""
        self._heard.clear()
