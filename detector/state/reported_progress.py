"""ReportedProgress: the progress that incidents report with their questions, which the cluster does not show.

It is kept for unhealthy targets only, each by its uid. A new leader has none until the incidents have asked,
which they do at once; until then a step that needs an approval is held.
"""

from health.model.approval import Progress
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
