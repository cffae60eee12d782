"""PausableCheck: a check that an annotation pauses while the cluster is being upgraded.

There are two annotations, and only their presence counts: one pauses the check, from any writer; the mark
beside it says that the pause is ours. A mark alone means that a person removed our pause, and that the check
must not be paused again in the same upgrade.

`SETTLE` writes the mark with a new value. It changes the resourceVersion, and with it the precondition of an
earlier patch whose answer was lost, so that the earlier patch can no longer be applied.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from health.model.references import CheckReference
from objects.frozen import Frozen, OpenEnum
from objects.metadata import ObjectMetadata


class PauseAction(StrEnum):
    """The changes of the two annotations of one check in one patch."""

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
        """The changed annotations of a merge patch.

        `replaced` is the resourceVersion that the patch replaces. As the value of the mark it differs each
        time, because the API server keeps the resourceVersion if a patch changes nothing.
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
    """One check, with the presence of its two annotations."""

    reference: CheckReference
    uid: str
    resource_version: str
    is_paused: bool = False
    is_marked: bool = False
    is_going: bool = False
    """Whether it is being deleted; then nothing is written."""

    @classmethod
    def of(cls, reference: CheckReference, metadata: ObjectMetadata, annotations: PauseAnnotations) -> Self:
        return cls(
            reference=reference,
            uid=metadata.uid,
            resource_version=metadata.resource_version,
            is_paused=annotations.paused in metadata.annotations,
            is_marked=annotations.mark in metadata.annotations,
            is_going=metadata.deletion_timestamp is not None,
        )

    def admits(self, action: str) -> bool:
        """True if `action` may be written: a pause without our mark is left alone."""
        match action:
            case PauseAction.PAUSE:
                return not self.is_paused
            case PauseAction.SETTLE:  # its mark would make the pause ours
                return self.is_marked or not self.is_paused
            case _:
                return self.is_marked

    def after(self, action: str) -> Self:
        if action == PauseAction.SETTLE:
            return self.model_copy(update={"is_marked": True})
        paused, marked = _PAUSED_AND_MARKED_AFTER[action]
        return self.model_copy(update={"is_paused": paused, "is_marked": marked})


class PausePatch(Frozen):
    """One patch of one check, valid only for the state at the time of the decision."""

    reference: CheckReference
    uid: str
    resource_version: str
    action: OpenEnum[PauseAction]
    """An action that this version does not know is not carried out."""

    def __str__(self) -> str:
        return f"{self.action} {self.reference}"
