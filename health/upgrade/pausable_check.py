"""PausableCheck: a check that is paused by an annotation while the cluster is being upgraded.

Two annotations, of which presence alone counts: one pauses the check, whoever wrote it; the mark beside it
says that the pause is ours. A mark alone says that somebody unpaused what we had paused, and that it is not
to be paused again in the same upgrade.

`SETTLE` writes the mark with a new value. It changes the resourceVersion, and with it the precondition of an
earlier patch whose answer was lost, so that this one cannot be applied any more.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from health.model.references import CheckReference
from objects.frozen import Frozen, OpenEnum
from objects.metadata import ObjectMetadata


class PauseAction(StrEnum):
    """What is done to the two annotations of one check, in one patch."""

    PAUSE = "Pause"
    """Both are written."""
    UNPAUSE = "Unpause"
    """Both are removed."""
    UNPAUSE_MARKED = "UnpauseMarked"
    """The pause is removed, in the middle of an upgrade; the mark stays until its end."""
    REMOVE_MARK = "RemoveMark"
    SETTLE = "Settle"
    """The mark is written with another value; the pause is left as it is."""


_PAUSED_AND_MARKED_AFTER: Mapping[str, tuple[bool, bool]] = {
    PauseAction.PAUSE: (True, True),
    PauseAction.UNPAUSE: (False, False),
    PauseAction.UNPAUSE_MARKED: (False, True),
    PauseAction.REMOVE_MARK: (False, False),
}


@dataclass(frozen=True)
class PauseAnnotations:
    """The two annotations of a kind of check."""

    paused: str
    mark: str

    def patch(self, action: PauseAction, replaced: str) -> dict[str, str | None]:
        """The annotations as a merge patch has them; what is not changed is not in it.

        `replaced` is the resourceVersion that the patch replaces. As the value of the mark it is another one
        each time: the API server keeps the resourceVersion where a patch changes nothing.
        """
        match action:
            case PauseAction.PAUSE:
                return {self.paused: "", self.mark: ""}
            case PauseAction.UNPAUSE:
                return {self.paused: None, self.mark: None}
            case PauseAction.UNPAUSE_MARKED:
                return {self.paused: None}
            case PauseAction.REMOVE_MARK:
                return {self.mark: None}
            case PauseAction.SETTLE:
                return {self.mark: replaced}


class PausableCheck(Frozen):
    """One check, as far as its pause is concerned."""

    reference: CheckReference
    uid: str
    resource_version: str
    is_paused: bool = False
    is_marked: bool = False
    is_going: bool = False
    """Whether it is being deleted; then nothing is written any more."""

    @classmethod
    def of(cls, reference: CheckReference, metadata: ObjectMetadata, annotations: PauseAnnotations) -> Self:
        """The check with this metadata."""
        return cls(
            reference=reference,
            uid=metadata.uid,
            resource_version=metadata.resource_version,
            is_paused=annotations.paused in metadata.annotations,
            is_marked=annotations.mark in metadata.annotations,
            is_going=metadata.deletion_timestamp is not None,
        )

    def admits(self, action: str) -> bool:
        """Whether `action` may be written: a pause without our mark is left alone."""
        match action:
            case PauseAction.PAUSE:
                return not self.is_paused
            case PauseAction.SETTLE:  # its mark would make the pause ours
                return self.is_marked or not self.is_paused
            case _:
                return self.is_marked

    def after(self, action: str) -> Self:
        """The check once `action` is done."""
        if action == PauseAction.SETTLE:
            return self.model_copy(update={"is_marked": True})
        paused, marked = _PAUSED_AND_MARKED_AFTER[action]
        return self.model_copy(update={"is_paused": paused, "is_marked": marked})


class PausePatch(Frozen):
    """One patch of one check, which must be as it was when that was decided."""

    reference: CheckReference
    uid: str
    resource_version: str
    action: OpenEnum[PauseAction]
    """One that this version does not know is not carried out."""

    def __str__(self) -> str:
        return f"{self.action} {self.reference}"
