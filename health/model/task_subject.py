"""TaskSubject: the thing that a maintenance task is about. It tells failures apart and is never shown."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Self

from objects.frozen import Frozen, OpenEnum


class SubjectKind(StrEnum):
    """The things that an incident maintains besides its steps."""

    LEASE = "Lease"
    CONFIRMATION = "Confirmation"
    """A person's confirmation that the target is healthy."""
    ORDER = "Order"
    """A person's order to remediate the target, which is on it."""
    REQUEST = "Request"
    ANNOTATIONS = "Annotations"
    """A group of annotations on one request; each group is written separately."""


class TaskSubject(Frozen):
    """The kind of thing, and for a request its uid and the names of the annotations."""

    kind: OpenEnum[SubjectKind]
    uid: str | None = None
    """The uid of the request; None for a Lease or a confirmation."""
    annotations: tuple[str, ...] = ()
    """Names of annotations, in order."""

    @classmethod
    def of_request(cls, uid: str) -> Self:
        return cls(kind=SubjectKind.REQUEST, uid=uid)

    @classmethod
    def of_annotations(cls, uid: str, names: Iterable[str]) -> Self:
        return cls(kind=SubjectKind.ANNOTATIONS, uid=uid, annotations=tuple(sorted(names)))


OF_LEASE = TaskSubject(kind=SubjectKind.LEASE)
OF_ORDER = TaskSubject(kind=SubjectKind.ORDER)
OF_CONFIRMATION = TaskSubject(kind=SubjectKind.CONFIRMATION)
