"""ChoreSubject: what a chore is about; it tells one failure from the others, and is never shown."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Self

from objects.frozen import Frozen, OpenEnum


class SubjectKind(StrEnum):
    """The kinds of things that an incident takes care of beside its steps."""

    LEASE = "Lease"
    CONFIRMATION = "Confirmation"
    """That of a person, of the health of the target."""
    REQUEST = "Request"
    ANNOTATIONS = "Annotations"
    """Some of one request; those of another kind are written by themselves."""


class ChoreSubject(Frozen):
    """One of them."""

    kind: OpenEnum[SubjectKind]
    uid: str = ""
    """Of the request, where it is about one."""
    annotations: tuple[str, ...] = ()
    """Their names, in order."""

    @classmethod
    def of_request(cls, uid: str) -> Self:
        """A request as a whole."""
        return cls(kind=SubjectKind.REQUEST, uid=uid)

    @classmethod
    def of_annotations(cls, uid: str, names: Iterable[str]) -> Self:
        """Annotations of a request."""
        return cls(kind=SubjectKind.ANNOTATIONS, uid=uid, annotations=tuple(sorted(names)))


OF_LEASE = ChoreSubject(kind=SubjectKind.LEASE)
OF_CONFIRMATION = ChoreSubject(kind=SubjectKind.CONFIRMATION)
