"""OpenWorkflows: the workflows that are open, as far as we know, and of what each was told last."""

from collections import defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, Protocol, TypeVar


class Keyed(Hashable, Protocol):
    """Whatever names one workflow."""

    @property
    def workflow_id(self) -> str:
        """Its id in Temporal, from which nothing but the key is read back."""


Key = TypeVar("Key", bound=Keyed)
Seen = TypeVar("Seen")
"""What is seen of what a workflow is about, at one moment."""


@dataclass(frozen=True)
class OpenWorkflow(Generic[Key, Seen]):
    """One of them."""

    key: Key
    last_observation: Seen | None
    """What was seen when it was last told, or is no news to it since; None where we do not know."""
    since: datetime
    """When we came to know of it."""


class OpenWorkflows(Generic[Key, Seen]):
    """Open workflows by id, and by what they are about."""

    def __init__(self, subject_of: Callable[[Key], Hashable]) -> None:
        self._subject_of = subject_of
        self._by_id: dict[str, OpenWorkflow[Key, Seen]] = {}
        self._by_subject: defaultdict[Hashable, set[str]] = defaultdict(set)

    def get(self, key: Key) -> OpenWorkflow[Key, Seen] | None:
        """What is known of one workflow."""
        return self._by_id.get(key.workflow_id)

    def put(self, key: Key, last_observation: Seen | None, now: datetime) -> None:
        """Note that a workflow is open, and what is no news to it."""
        known = self._by_id.get(key.workflow_id)
        since = known.since if known else now
        self._by_id[key.workflow_id] = OpenWorkflow(key, last_observation, since)
        self._by_subject[self._subject_of(key)].add(key.workflow_id)

    def remove(self, key: Key) -> None:
        """Note that a workflow is closed."""
        self._by_id.pop(key.workflow_id, None)
        subject = self._subject_of(key)
        self._by_subject[subject].discard(key.workflow_id)
        if not self._by_subject[subject]:
            del self._by_subject[subject]

    def of(self, subject: Hashable) -> frozenset[Key]:
        """The open workflows about one subject; more than one where it was recreated."""
        return frozenset(self._by_id[workflow_id].key for workflow_id in self._by_subject.get(subject, ()))

    def all(self) -> tuple[OpenWorkflow[Key, Seen], ...]:
        """All of them."""
        return tuple(self._by_id.values())
