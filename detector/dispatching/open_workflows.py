"""OpenWorkflows: the workflows that are known to be open, and the last observation that each was given."""

from collections import defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, Protocol, TypeVar


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
    """Open workflows by id, and by their subject."""

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
