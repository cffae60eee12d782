"""Event: the content of a Kubernetes Event, and the object that it is about."""

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """The type of a Kubernetes Event, as the API spells it."""

    NORMAL = "Normal"
    WARNING = "Warning"


@dataclass(frozen=True, kw_only=True)
class InvolvedObject:
    """The object that an Event is about, as its involvedObject; `namespace` is "" if it is cluster-scoped."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str

    def __str__(self) -> str:
        return "/".join(part for part in (self.kind, self.namespace, self.name) if part)


@dataclass(frozen=True, kw_only=True)
class Event:
    """An Event, with the seed that prevents a second emission."""

    seed: str
    severity: Severity
    reason: str
    message: str
    again: str = ""
    """Added to a seed that was used already; set only if the condition was seen to be false in between."""
    subject: InvolvedObject | None = None
    """None: the reporter names the object, usually the check."""
    action: str | None = None
    """The action of the Event, where the reference controller of the kind sets one."""
