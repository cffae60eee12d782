"""RequestChange: what became of one remediation request between two moments."""

from dataclasses import dataclass

from health.request_sight import RequestSight


@dataclass(frozen=True)
class RequestChange:
    """It was made, changed or deleted; one that only has another owner now was neither made nor deleted."""

    target: str
    """The name of the target that it is for."""
    before: RequestSight | None
    """None where it was made."""
    after: RequestSight | None
    """None where it is gone."""

    @property
    def made(self) -> RequestSight | None:
        """The request, if it was made."""
        return self.after if self.before is None else None

    @property
    def deleted(self) -> RequestSight | None:
        """The request as it was, if somebody ordered its deletion; a finalizer may keep it still."""
        if self.before is None or self.before.is_being_deleted:
            return None
        return self.before if self.after is None or self.after.is_being_deleted else None
