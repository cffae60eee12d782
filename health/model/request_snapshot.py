"""RequestSnapshot: a remediation request as the cluster shows it, and the change between two snapshots."""

from dataclasses import dataclass
from datetime import datetime

from health.model.references import RequestReference
from objects.frozen import Frozen
from objects.short_text import ShortText

EXISTS = "exists"
"""The state of a request without a report."""


class RequestSnapshot(Frozen):
    """One request; its annotations supply the times."""

    reference: RequestReference
    created: datetime
    is_being_deleted: bool = False
    """Whether it has a deletionTimestamp: only a finalizer keeps it."""
    has_finalizers: bool = False
    """True if its deletion has to wait for its remediator."""
    succeeded: bool | None = None
    """The condition Succeeded; None while the remediator has not decided."""
    is_node_deletion_expected: bool = False
    """The condition PermanentNodeDeletionExpected: the remediation removes the Node on purpose."""
    timed_out_at: datetime | None = None
    """When the request was marked as timed out, so that its remediator stops."""
    healthy_since: datetime | None = None
    """Since when the target is healthy while the healthyDelay keeps the request."""
    is_flagged_as_old: bool = False
    is_of_control_plane: bool = False
    is_unsigned: bool = False
    """Whether it names no incident: the first incident that finds it adopts it."""
    is_of_operator: bool = False
    """Whether another operator made it, and already emitted its Events."""
    boot_id: ShortText = ""
    """The boot ID of the target right before the request was made; "": not recorded."""

    @property
    def uid(self) -> str:
        return self.reference.uid

    @property
    def report(self) -> str | None:
        """The state of the request, as the end of a sentence; None: it exists, and no report is known."""
        if self.is_being_deleted:
            return "is being deleted, and a finalizer keeps it"
        if self.timed_out_at is not None:
            return "timed out"
        return None if self.succeeded is None else "succeeded" if self.succeeded else "failed"

    def __str__(self) -> str:
        return f"{self.reference} {self.report or EXISTS}"


@dataclass(frozen=True)
class RequestChange:
    """The creation, change or deletion of a request. A new owner alone is neither creation nor deletion."""

    target: str
    """The name of the target that the request is for."""
    before: RequestSnapshot | None
    """None: the request was created."""
    after: RequestSnapshot | None
    """None: the request is gone."""

    @property
    def made(self) -> RequestSnapshot | None:
        return self.after if self.before is None else None

    @property
    def deleted(self) -> RequestSnapshot | None:
        """The request as it was, if its deletion was ordered; a finalizer may still keep it."""
        if self.before is None or self.before.is_being_deleted:
            return None
        return self.before if self.after is None or self.after.is_being_deleted else None
