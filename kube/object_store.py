"""ObjectStore: the objects of one kind as the API server reported them last, decodable and undecodable.

Each object is one or the other. Methods return the changes of decodable objects, in order. Two versions with
equal records are no change, which filters out a Node's heartbeats. A new object under an old name is two
changes: DELETED and ADDED. An undecodable object is reported to `on_undecodable`, once per version and
before its record is reported DELETED, and logged (`UndecodableLog`).
`report_resolved` reports it again, without an error, when it decodes again or is gone; call it after its
changes were reported, otherwise the object looks deleted for a moment.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from itertools import chain
from types import MappingProxyType
from typing import Generic

from pydantic import BaseModel

from kube import answer_bounds
from kube.answer_bounds import CacheRoom, check_bound
from kube.decoding import ObjectEvent, Undecodable
from kube.listing import ObjectList
from kube.rate_limiter import RateLimiter
from kube.record import Change, ChangeKind, Key, Record, RecordT, key_of
from kube.server_clock import monotonic_clock

MOST_LINES_AT_ONCE = 10
SECONDS_FOR_A_LINE = 6.0
MOST_NAMED = 5
"""The most objects with their errors in one line."""

_logger = logging.getLogger(__name__)


class UndecodableLog:
    """Logs the undecodable objects of one source at a bounded rate; `clock` returns steady seconds.

    Another writer decides how often an undecodable object changes, decodes again, or gets a new name. So
    ObjectStore reports an object once until it decodes again, and the log has at most ten lines at once and
    ten a minute.
    """

    def __init__(self, source: str, clock: Callable[[], float]) -> None:
        self._source = source
        self._rate_limiter = RateLimiter(MOST_LINES_AT_ONCE, 1 / SECONDS_FOR_A_LINE, clock)
        self._omitted = 0
        """The objects without a line since the last line."""

    def add(self, new: Sequence[Undecodable]) -> None:
        """Log objects that stopped decoding in one line, or count them for the next line."""
        if not new or not self._rate_limiter.allow():
            self._omitted += len(new)
            return
        count, self._omitted = len(new) + self._omitted, 0
        named = [f"{'/'.join(filter(None, failure.key))}: {failure.error}" for failure in new[:MOST_NAMED]]
        more = f"; and {count - len(named)} more" if count > len(named) else ""
        _logger.warning(
            "%d of %s do not decode and are left out: %s%s", count, self._source, "; ".join(named), more
        )


def _changes(key: Key, old: RecordT | None, new: RecordT) -> list[Change[RecordT]]:
    if old is None:
        return [Change(ChangeKind.ADDED, key, None, new)]
    if old.metadata.uid != new.metadata.uid:
        return [Change(ChangeKind.DELETED, key, old, None), Change(ChangeKind.ADDED, key, None, new)]
    return [] if _has_same_content(old, new) else [Change(ChangeKind.MODIFIED, key, old, new)]


def _has_same_content(old: Record, new: Record) -> bool:
    # Equal resourceVersions prove nothing: an object has other content in another version of its API.
    return all(
        getattr(before, name) == getattr(after, name)
        for before, after, but in (
            (old, new, "metadata"),
            (old.metadata, new.metadata, "resource_version"),
        )
        for name in _fields(type(before))
        if name != but
    )


@cache
def _fields(of: type[object]) -> tuple[str, ...]:
    """The field names of a model or dataclass; cached, because heartbeats are many."""
    if is_dataclass(of):
        return tuple(field.name for field in fields(of))
    return tuple(of.model_fields) if issubclass(of, BaseModel) else ()


class ObjectStore(Generic[RecordT]):
    """Keeps records and undecodable objects; sends no requests, and calls only `on_undecodable`."""

    def __init__(
        self,
        source: str,
        on_undecodable: Callable[[Key, str], None] | None,
        clock: Callable[[], float] = monotonic_clock,
        room: CacheRoom | None = None,
    ) -> None:
        """`source` names the objects in the log, and `clock` paces it, in seconds of a steady clock."""
        self._records: dict[Key, RecordT] = {}
        self.records: Mapping[Key, RecordT] = MappingProxyType(self._records)
        """The records of decodable objects; a read-only view that follows the store."""
        self._memory = (room or CacheRoom()).cache(source)
        self._undecodable = UndecodableObjects(source, UndecodableLog(source, clock), on_undecodable)

    @property
    def undecodable(self) -> Mapping[Key, str]:
        """The errors of the other objects; a read-only view."""
        return self._undecodable.errors

    def report_undecodable(self) -> Iterator[Key]:
        """Report undecodable objects of the last list to `on_undecodable`, one with each step."""
        return self._undecodable.report_listed()

    def report_resolved(self) -> Iterator[Key]:
        """Report objects that decode again or are gone to `on_undecodable`, one with each step."""
        return self._undecodable.report_resolved()

    def replacing(self, listed: ObjectList[RecordT]) -> Iterator[list[Change[RecordT]]]:
        """Take over a complete list at the last step, not before; call `report_undecodable` then.

        Each step has the changes of one object, if it has any: to compare 100,000 takes half a second.
        """
        found: dict[Key, RecordT] = {}
        for record in listed.records:
            found[key_of(record)] = record
            yield []
        for key, old in self._records.items():
            if key not in found:
                yield [Change(ChangeKind.DELETED, key, old, None)]
        for key, record in found.items():
            yield _changes(key, self._records.get(key), record)
        self._records.clear()
        self._records.update(found)
        self._undecodable.replace(listed.undecodable)
        self._memory.replace(listed.memory)

    def note_overflow(self) -> None:
        """Note that the last list was too large to take over."""
        self._memory.note_overflow()

    def clear(self) -> list[Change[RecordT]]:
        """Remove all objects, because the kind is no longer served."""
        return [*chain.from_iterable(self.replacing(ObjectList([], [], "")))]

    def apply(self, change: ObjectEvent[RecordT]) -> list[Change[RecordT]]:
        """Apply one event of a watch; its changes.

        Raises Malformed: the store would exceed kube/answer_bounds.py; the store is as before.
        """
        found, is_deleted = change.found, change.kind is ChangeKind.DELETED
        if isinstance(found, Undecodable):
            if is_deleted:
                self._undecodable.discard(found.key)
            else:
                self._undecodable.add(found)
            return self._remove(found.key)
        key = key_of(found)
        if is_deleted:
            self._undecodable.discard(key)
            return self._remove(key)
        self._memory.put(found)
        self._undecodable.discard(key)
        changes = _changes(key, self._records.get(key), found)
        self._records[key] = found
        return changes

    def _remove(self, key: Key) -> list[Change[RecordT]]:
        self._memory.remove(key)
        old = self._records.pop(key, None)
        return [] if old is None else [Change(ChangeKind.DELETED, key, old, None)]


class UndecodableObjects:
    """The objects that do not decode, with their errors, by key."""

    def __init__(
        self, source: str, log: UndecodableLog, on_undecodable: Callable[[Key, str], None] | None
    ) -> None:
        self._subject = f"The cache of {source}"
        self._log = log
        self._on_undecodable = on_undecodable
        self._versions: dict[Key, str] = {}
        self._errors: dict[Key, str] = {}
        self._resolved: set[Key] = set()
        self._listed: dict[Key, None] = {}
        """Objects of a list that were not reported yet."""
        self.errors: Mapping[Key, str] = MappingProxyType(self._errors)
        """The error of each object; a read-only view."""

    def add(self, undecodable: Undecodable) -> None:
        """Record and report an undecodable object; a known version is not reported again.

        Raises Malformed: there are too many of them.
        """
        was_reported = undecodable.key in self._errors
        number = len(self._errors) + (not was_reported)
        check_bound(self._subject, number, answer_bounds.MOST_UNDECODABLE, "objects that do not decode")
        if not self._note(undecodable):
            return
        if not was_reported:
            self._log.add([undecodable])
        self._report(undecodable.key, undecodable.error)

    def _note(self, undecodable: Undecodable) -> bool:
        """Record an object; True if this version of it is new."""
        if self._versions.get(undecodable.key) == undecodable.resource_version:
            return False
        self._versions[undecodable.key] = undecodable.resource_version
        self._errors[undecodable.key] = undecodable.error
        return True

    def _report(self, key: Key, error: str) -> None:
        if self._on_undecodable is not None:
            self._on_undecodable(key, error)

    def discard(self, key: Key) -> None:
        """Remove an object that decodes again or was deleted."""
        self._listed.pop(key, None)
        if self._versions.pop(key, None) is None:
            return
        del self._errors[key]
        self._resolved.add(key)

    def report_resolved(self) -> Iterator[Key]:
        """Report objects that were discarded since the last call and not added again."""
        while self._resolved:
            key = self._resolved.pop()
            if key not in self._errors:
                self._report(key, "")
                yield key

    def report_listed(self) -> Iterator[Key]:
        """Report the objects of the last list."""
        while self._listed:
            key = next(iter(self._listed))
            del self._listed[key]
            self._report(key, self._errors[key])
            yield key

    def replace(self, undecodable: Iterable[Undecodable]) -> None:
        """Make these objects of a complete list the only ones."""
        listed, before = {failure.key: failure for failure in undecodable}, {*self._errors}
        for key in [key for key in self._errors if key not in listed]:
            self.discard(key)
        new = [failure for failure in listed.values() if self._note(failure)]
        self._listed |= dict.fromkeys(failure.key for failure in new)
        self._log.add([failure for failure in new if failure.key not in before])
