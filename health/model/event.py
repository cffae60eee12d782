"""Event: one thing to tell about a check, as a Kubernetes Event."""

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """The type of a Kubernetes Event."""

    NORMAL = "Normal"
    WARNING = "Warning"


@dataclass(frozen=True)
class Subject:
    """The object that an Event is about, where that is not the check itself."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str


@dataclass(frozen=True)
class Event:
    """What to tell, and by which seed it is told once only."""

    seed: str
    severity: Severity
    reason: str
    message: str
    again: str = ""
    """Added to a seed that is told already; set only where it was seen that it was not so in between."""
    subject: Subject | None = None
    """None: the check."""
    action: str = ""
    """What was being done, where the operator of the kind names it."""
