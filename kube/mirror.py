"""Mirror: the objects of one kind as the API server told of them last: those that decode, and the others.

An object is one or the other. Every method returns the changes of those that decode, in order; a broken one
is told by `on_broken` before its record is reported DELETED.
"""

from collections.abc import Callable, Mapping
from typing import Generic

from kube.broken import BrokenObjects
from kube.decoding import Broken, Seen
from kube.listing import Listed
from kube.record import Change, ChangeKind, Key, RecordT, key_of
from kube.store import Store


class Mirror(Generic[RecordT]):
    """Pure bookkeeping: nothing is asked, and nobody but `on_broken` is told."""

    def __init__(self, kind: str, on_broken: Callable[[Key, str], None] | None) -> None:
        self._store: Store[RecordT] = Store()
        self._broken = BrokenObjects(kind, on_broken)

    @property
    def records(self) -> Mapping[Key, RecordT]:
        """Those that decode; a read-only view that follows."""
        return self._store.records

    @property
    def broken(self) -> Mapping[Key, str]:
        """What is wrong with the others; a read-only view."""
        return self._broken.errors

    def replace(self, listed: Listed[RecordT]) -> list[Change[RecordT]]:
        """Hold what a complete list holds."""
        self._broken.replace(listed.broken)
        return self._store.replace(listed.records)

    def clear(self) -> list[Change[RecordT]]:
        """Hold nothing: the kind is gone."""
        self._broken.replace(())
        return self._store.replace(())

    def apply(self, seen: Seen[RecordT]) -> list[Change[RecordT]]:
        """Follow one event of a watch."""
        if isinstance(seen.found, Broken):
            return self._leave_out(seen.kind, seen.found)
        key = key_of(seen.found)
        self._broken.discard(key)
        return self._store.remove(key) if seen.kind is ChangeKind.DELETED else self._store.put(seen.found)

    def _leave_out(self, kind: ChangeKind, found: Broken) -> list[Change[RecordT]]:
        if kind is ChangeKind.DELETED:
            self._broken.discard(found.key)
        else:
            self._broken.add(found)
        return self._store.remove(found.key)
