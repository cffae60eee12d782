"""RequestSight: one remediation request as the cluster shows it, with its marks and what became of it."""

from datetime import datetime

from health.frozen import Frozen
from health.references import RequestReference


class RequestSight(Frozen):
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
    """Whether it names no incident: the reference made it, and has told of it."""

    @property
    def uid(self) -> str:
        """The individual."""
        return self.reference.uid

    def __str__(self) -> str:
        if self.is_being_deleted:
            return f"{self.reference} is being deleted, and a finalizer keeps it"
        if self.timed_out_at is not None:
            return f"{self.reference} timed out"
        if self.succeeded is not None:
            return f"{self.reference} {'succeeded' if self.succeeded else 'failed'}"
        return f"{self.reference} exists"
