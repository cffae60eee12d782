"""What a reflector keeps of an object, and how it tells that something about it changed."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, NamedTuple, Protocol, TypeVar


class RecordMetadata(Protocol):
    """What a reflector needs of an object's metadata; `ObjectMetadata` has it, and so may another model."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def namespace(self) -> str:
        """Its namespace, "" for a cluster-scoped object."""

    @property
    def uid(self) -> str:
        """Its identity."""

    @property
    def resource_version(self) -> str:
        """Its version."""


class Record(Protocol):
    """A frozen pydantic model of the few fields that matter of one kind.

    What it leaves out (managedFields, heartbeat times) can change without anybody being told. Items of
    a list carry no apiVersion and kind, so a record must not require them.
    """

    @property
    def metadata(self) -> RecordMetadata:
        """Identity of the object."""


RecordT = TypeVar("RecordT", bound=Record)


class Key(NamedTuple):
    """Where an object lives; its uid tells whether it is still the same one."""

    namespace: str
    name: str


def key_of(record: Record) -> Key:
    """Return the key of the object that `record` was read from."""
    return Key(record.metadata.namespace, record.metadata.name)


class ChangeKind(StrEnum):
    """What happened to an object, in the words of the watch protocol."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


@dataclass(frozen=True)
class Change(Generic[RecordT]):
    """One object came, changed or went; `old` and `new` are what was and is in the store."""

    kind: ChangeKind
    key: Key
    old: RecordT | None
    new: RecordT | None
