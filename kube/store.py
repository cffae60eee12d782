"""The objects of one kind: pure bookkeeping of records, answering with what changed.

Two versions of an object whose records are equal are no change; a Node's heartbeats end here. An object
that was replaced under its name is two changes: the old one went, a new one came.
"""

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import MappingProxyType
from typing import Generic

from pydantic import BaseModel

from kube.record import Change, ChangeKind, Key, Record, RecordT, key_of


class Store(Generic[RecordT]):
    """Records by key. Every method returns the changes that it made, in order."""

    def __init__(self) -> None:
        self._records: dict[Key, RecordT] = {}
        self.records: Mapping[Key, RecordT] = MappingProxyType(self._records)
        """A read-only view that follows the store."""

    def put(self, record: RecordT) -> list[Change[RecordT]]:
        """Keep `record` as the newest version of its object."""
        key = key_of(record)
        old = self._records.get(key)
        self._records[key] = record
        if old is None:
            return [Change(ChangeKind.ADDED, key, None, record)]
        if old.metadata.uid != record.metadata.uid:
            return [Change(ChangeKind.DELETED, key, old, None), Change(ChangeKind.ADDED, key, None, record)]
        if _tell_the_same(old, record):
            return []
        return [Change(ChangeKind.MODIFIED, key, old, record)]

    def remove(self, key: Key) -> list[Change[RecordT]]:
        """Forget the object; nothing happens if it is not there."""
        old = self._records.pop(key, None)
        return [] if old is None else [Change(ChangeKind.DELETED, key, old, None)]

    def replace(self, records: Iterable[RecordT]) -> list[Change[RecordT]]:
        """Make the store hold exactly `records`: a complete list."""
        listed = {key_of(record): record for record in records}
        changes: list[Change[RecordT]] = []
        for key in [key for key in self._records if key not in listed]:
            changes += self.remove(key)
        for record in listed.values():
            changes += self.put(record)
        return changes


def _tell_the_same(old: Record, new: Record) -> bool:
    # One resourceVersion is no proof: an object says other things in another version of its API.
    is_same = not _differ(old, new, but="metadata")
    return is_same and not _differ(old.metadata, new.metadata, but="resource_version")


def _differ(old: object, new: object, *, but: str) -> bool:
    names = _fields(type(old))  # type: ignore[arg-type]  # classes can be hashed, whatever their objects can
    return any(getattr(old, name) != getattr(new, name) for name in names if name != but)


@cache
def _fields(of: type[object]) -> tuple[str, ...]:
    """The fields of a model or a dataclass; asked once, since heartbeats are many."""
    if is_dataclass(of):
        return tuple(field.name for field in fields(of))
    return tuple(of.model_fields) if issubclass(of, BaseModel) else ()
