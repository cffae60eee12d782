"""FailingCondition: a condition of a stored status by which a check says that it does not work."""

from collections.abc import Mapping
from dataclasses import dataclass

UNREADABLE = "CheckUnreadable"
"""What is said of a check that cannot be read."""


@dataclass(frozen=True)
class FailingCondition:
    """One condition, and what it means to people."""

    type: str
    status: str
    finding: str
    """The reason of what is said of it."""
    words: str
    only_for: str = ""
    """The reason that the condition must have; "" is any."""

    def is_shown_by(self, condition: Mapping[str, str]) -> bool:
        """Whether this condition is it."""
        if (condition.get("type"), condition.get("status")) != (self.type, self.status):
            return False
        return self.only_for in ("", condition.get("reason"))
