"""RequestSnapshot: a remediation request as the cluster shows it, and what became of it since another one."""

from dataclasses import dataclass
from datetime import datetime

from health.model.references import RequestReference
from objects.frozen import Frozen


class RequestSnapshot(Frozen):
    """One request; the times are those that its annotations say."""

    reference: RequestReference
    created: datetime
    is_being_deleted: bool = False
    """Whether only a finalizer keeps it."""
    succeeded: bool | None = None
    """The condition Succeeded; None while the remediator has not decided."""
    is_node_deletion_expected: bool = False
    """The condition PermanentNodeDeletionExpected: that the node goes is part of the remediation."""
    timed_out_at: datetime | None = None
    """When its remediator was told to stop."""
    healthy_since: datetime | None = None
    """Since when the target is healthy, and the request is kept for the check's healthyDelay."""
    is_flagged_as_old: bool = False
    is_of_control_plane: bool = False
    is_unsigned: bool = False
    """Whether it names no incident: the one that finds it adopts it."""
    is_of_operator: bool = False
    """Whether another operator made it, and has told of it."""
    boot_id: str = ""
    """The boot ID of its target right before it was made; "": nobody wrote it down."""

    @property
    def uid(self) -> str:
        """Tells it from others of its name."""
        return self.reference.uid

    def __str__(self) -> str:
        if self.is_being_deleted:
            return f"{self.reference} is being deleted, and a finalizer keeps it"
        if self.timed_out_at is not None:
            return f"{self.reference} timed out"
        if self.succeeded is not None:
            return f"{self.reference} {'succeeded' if self.succeeded else 'failed'}"
        return f"{self.reference} exists"


@dataclass(frozen=True)
class RequestChange:
    """It was made, changed or deleted; one that only has another owner now was neither made nor deleted."""

    target: str
    """The name of the target that it is for."""
    before: RequestSnapshot | None
    """None where it was made."""
    after: RequestSnapshot | None
    """None where it is gone."""

    @property
    def made(self) -> RequestSnapshot | None:
        """The request, if it was made."""
        return self.after if self.before is None else None

    @property
    def deleted(self) -> RequestSnapshot | None:
        """The request as it was, if somebody ordered its deletion; a finalizer may keep it still."""
        if self.before is None or self.before.is_being_deleted:
            return None
        return self.before if self.after is None or self.after.is_being_deleted else None
