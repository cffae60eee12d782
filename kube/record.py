"""The records that a reflector keeps of objects, and the changes that it reports."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, NamedTuple, Protocol, TypeVar


class RecordMetadata(Protocol):
    """The metadata that a reflector needs; `ObjectMetadata` has it, and so may another model."""

    @property
    def name(self) -> str: ...

    @property
    def namespace(self) -> str:
        """The namespace of the object, "" if it is cluster-scoped."""

    @property
    def uid(self) -> str: ...

    @property
    def resource_version(self) -> str: ...


class Record(Protocol):
    """A frozen pydantic model of the few fields of one kind that matter.

    Changes of other fields (managedFields, heartbeat times) are not reported. Items of a list have no
    apiVersion and kind, so a record must not require them.
    """

    @property
    def metadata(self) -> RecordMetadata: ...


RecordT = TypeVar("RecordT", bound=Record)


class Key(NamedTuple):
    """Namespace and name of an object; its uid tells it from others of that name."""

    namespace: str
    name: str


def key_of(record: Record) -> Key:
    return Key(record.metadata.namespace, record.metadata.name)


class ChangeKind(StrEnum):
    """The type of a change, as in the watch protocol."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


@dataclass(frozen=True)
class Change(Generic[RecordT]):
    """A change of one object; `old` and `new` are its records before and after."""

    kind: ChangeKind
    key: Key
    old: RecordT | None
    new: RecordT | None
