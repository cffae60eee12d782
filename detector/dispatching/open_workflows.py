"""The workflows that a Reconciler knows: those that are open, and those whose calls Temporal refuses."""

from collections import defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, Protocol, TypeVar

from temporalio.service import RPCError

from runtime.problems import Problems, one_sentence
from runtime.temporal_trouble import is_for_all, may_be_of_one

_CONSEQUENCE = "Temporal refuses a workflow, and takes others"


class Keyed(Hashable, Protocol):
    """The key of a workflow, by which the Reconciler compares it."""

    @property
    def workflow_id(self) -> str:
        """The id under which Temporal knows the workflow."""


Key = TypeVar("Key", bound=Keyed)
Observed = TypeVar("Observed")
"""An observation of the subject of a workflow at one moment."""


@dataclass(frozen=True)
class OpenWorkflow(Generic[Key, Observed]):
    """An open workflow and its last observation."""

    key: Key
    last_observation: Observed | None
    """The observation of its latest answer, or a later one without news; None if not known."""
    since: datetime
    """When this process learned of it."""


class OpenWorkflows(Generic[Key, Observed]):
    """Open workflows, by id and by their subject, and the last observation that each was given."""

    def __init__(self, subject_of: Callable[[Key], Hashable]) -> None:
        self._subject_of = subject_of
        self._by_id: dict[str, OpenWorkflow[Key, Observed]] = {}
        self._by_subject: defaultdict[Hashable, set[str]] = defaultdict(set)

    def get(self, key: Key) -> OpenWorkflow[Key, Observed] | None:
        return self._by_id.get(key.workflow_id)

    def put(self, key: Key, last_observation: Observed | None, now: datetime) -> None:
        """Note that a workflow is open, and the latest observation that is no news to it."""
        entry = self._by_id.get(key.workflow_id)
        since = entry.since if entry else now
        self._by_id[key.workflow_id] = OpenWorkflow(key, last_observation, since)
        self._by_subject[self._subject_of(key)].add(key.workflow_id)

    def remove(self, key: Key) -> None:
        self._by_id.pop(key.workflow_id, None)
        subject = self._subject_of(key)
        self._by_subject[subject].discard(key.workflow_id)
        if not self._by_subject[subject]:
            del self._by_subject[subject]

    def of(self, subject: Hashable) -> frozenset[Key]:
        """The open workflows about one subject; several if its object was recreated."""
        return frozenset(self._by_id[workflow_id].key for workflow_id in self._by_subject.get(subject, ()))

    def all(self) -> tuple[OpenWorkflow[Key, Observed], ...]:
        return tuple(self._by_id.values())


class Refusals(Generic[Key]):
    """The workflows of one type whose calls Temporal refuses, while it takes others.

    An error of Temporal that says nothing about one workflow, such as one of its database, may still be about
    one alone. So a workflow whose call fails again, after calls for others succeeded, is refused: its calls
    are repeated, and delay no others.
    """

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
