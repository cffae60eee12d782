"""Refusals: the workflows whose calls Temporal refuses, while it takes others.

An error of Temporal that says nothing about one workflow, such as one of its database, may still be about one
alone. So a workflow whose call fails again, after calls for others succeeded, is refused: its calls are
repeated, and delay no others.
"""

from collections.abc import Callable
from typing import Generic

from temporalio.service import RPCError

from detector.dispatching.open_workflows import Key
from runtime.problems import Problems, one_sentence
from runtime.temporal_trouble import is_for_all, may_be_of_one

_CONSEQUENCE = "Temporal refuses a workflow, and takes others"


class Refusals(Generic[Key]):
    """The refused workflows of one type, and what tells them from an outage of Temporal."""

    def __init__(self, report: Callable[[Key, str], None]) -> None:
        """`report` is called when a workflow is refused, with the error, and with "" at the end of it."""
        self._report = report
        self._successes = 0
        self._failed: dict[str, int] = {}
        """The calls that had succeeded at the latest failure of each workflow."""
        self._refused = Problems(_CONSEQUENCE)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The id and the first error of each refused workflow."""
        return self._refused.sentences

    def has_failed(self, key: Key) -> bool:
        return key.workflow_id in self._failed

    def is_refused_after(self, key: Key, error: RPCError) -> bool:
        """Note a failed call; return whether Temporal refuses this workflow, and not all calls."""
        others = self._successes > self._failed.get(key.workflow_id, self._successes)
        self._failed[key.workflow_id] = self._successes
        if self._refused.sentence(key.workflow_id):
            return True
        if is_for_all(error) and not (others and may_be_of_one(error)):
            return False
        self._refused.report(key.workflow_id, one_sentence(error))
        self._report(key, one_sentence(error))
        return True

    def succeeded(self, key: Key) -> None:
        self._successes += 1
        self.forget(key)

    def clear(self) -> None:
        """Forget all without a report, as this process no longer leads."""
        self._failed.clear()
        self._refused = Problems(_CONSEQUENCE)

    def forget(self, key: Key) -> None:
        """Forget its failures, as it was called or is no longer wanted."""
        self._failed.pop(key.workflow_id, None)
        if self._refused.sentence(key.workflow_id):
            self._refused.report(key.workflow_id, "")
            self._report(key, "")
