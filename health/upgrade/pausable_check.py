"""PausableCheck: a check that an annotation pauses while the cluster is being upgraded.

Of the pause only its presence counts, from any writer. The mark beside it says that the pause is ours; its
value is the beginning of the upgrade that the check was paused for. A mark alone means that a person removed
our pause, so that the check must not be paused again in the same upgrade.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Self

from health.model.references import CheckReference
from health.policy.policy_in_force import OFF, SHADOW
from objects.metadata import ObjectMetadata
from objects.timestamps import stamp


class PauseAction(StrEnum):
    """The changes of the two annotations of one check in one patch."""

    PAUSE = "Pause"
    """Both are written; of a check that we paused for an earlier upgrade, this renews the mark."""
    UNPAUSE = "Unpause"
    """Both are removed."""
    UNPAUSE_MARKED = "UnpauseMarked"
    """The pause is removed, in the middle of an upgrade; the mark stays until its end."""
    REMOVE_MARK = "RemoveMark"


@dataclass(frozen=True)
class PauseAnnotations:
    """The two annotations of a kind of check."""

    paused: str
    mark: str

    def patch(self, action: PauseAction, began: datetime | None = None) -> dict[str, str | None]:
        """The changed annotations of a merge patch; a pause is for the upgrade that began at this time."""
        match action:
            case PauseAction.PAUSE:
                return {self.paused: "", self.mark: stamp(began) if began else ""}
            case PauseAction.UNPAUSE:
                return {self.paused: None, self.mark: None}
            case PauseAction.UNPAUSE_MARKED:
                return {self.paused: None}
            case PauseAction.REMOVE_MARK:
                return {self.mark: None}


@dataclass(frozen=True, kw_only=True)
class PausableCheck:
    """One check as the API server has it, with its two annotations."""

    reference: CheckReference
    uid: str
    created: datetime
    is_paused: bool = False
    mark: str | None = None
    """The value of the mark; None: it has none."""
    is_in_shadow: bool = False
    """True: its own annotation forbids every pause of it."""
    is_going: bool = False
    """True: it is being deleted, and nothing is written."""

    @classmethod
    def of(cls, reference: CheckReference, metadata: ObjectMetadata, annotations: PauseAnnotations) -> Self:
        return cls(
            reference=reference,
            uid=metadata.uid,
            created=metadata.creation_timestamp,
            is_paused=annotations.paused in metadata.annotations,
            mark=metadata.annotations.get(annotations.mark),
            is_in_shadow=metadata.annotations.get(SHADOW, OFF) != OFF,
            is_going=metadata.deletion_timestamp is not None,
        )

    @property
    def is_marked(self) -> bool:
        return self.mark is not None

    @property
    def marked_for(self) -> datetime | None:
        """The begin of the upgrade in its mark. None: there is no mark, or another writer set it."""
        try:
            marked = datetime.fromisoformat(self.mark or "")
        except ValueError:
            return None
        return marked if marked.tzinfo else marked.replace(tzinfo=UTC)

    def is_marked_before(self, began: datetime) -> bool:
        """True if its mark is of an upgrade before the one that began at this time."""
        return self.marked_for is not None and self.marked_for < began
