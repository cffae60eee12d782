"""ParamedicStatus: the object by which we say in Kubernetes whether we can work; when it is written. Pure.

Its conditions are those of Kubernetes: `lastTransitionTime` is of the status alone. What is said again and
again is written when it changes, and every five minutes, as a kubelet writes the status of its Node: so who
reads it sees by one time whether anybody is left to say it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Self

from pydantic import AwareDatetime, ValidationError

from kube.events import EventNote, ObjectReference
from kube.resource import Object, Resource
from objects.frozen import FrozenObject
from objects.timestamps import stamp

PARAMEDIC_STATUSES = Resource(
    "paramedic.dev/v1alpha1", "ParamedicStatus", "paramedicstatuses", namespaced=True
)
NAME = "paramedic"
"""That of the one object, in our namespace."""
HEARTBEAT = timedelta(minutes=5)
STALE = 2 * HEARTBEAT
"""Nobody has said for so long what is still written: one heartbeat may be late."""
REWORDED_AFTER = timedelta(minutes=1)
"""Another sentence for the same reason is no hurry: what a server answers may change each time."""
TOLD_FOR = timedelta(hours=1)
"""As long as an API server keeps Events by default, so a process that starts tells none of them anew."""
LONGEST_MESSAGE = 1000


class ConditionType(StrEnum):
    """What is said."""

    DETECTOR_LEADING = "DetectorLeading"
    TEMPORAL_REACHABLE = "TemporalReachable"
    WORKER_AVAILABLE = "WorkerAvailable"
    SLOTS_AVAILABLE = "SlotsAvailable"


class Answer(StrEnum):
    """The status of a condition."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


@dataclass(frozen=True)
class Statement:
    """What is so now."""

    type: ConditionType
    status: Answer
    reason: str
    message: str


class Installation(FrozenObject):
    """The configuration of an installation: a command compares it with its options."""

    cluster: str = ""
    """The identity of the cluster; "": the detector that wrote the status did not say."""
    lease_namespace: str = ""
    temporal_namespace: str = ""


class Condition(FrozenObject):
    """What is written of one statement."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: AwareDatetime

    def says(self, statement: Statement) -> bool:
        """Whether it says so already, in whichever words."""
        return (self.status, self.reason) == (statement.status, statement.reason)


class Status(FrozenObject):
    """All that is written."""

    conditions: tuple[Condition, ...] = ()
    heartbeat_time: AwareDatetime | None = None
    heartbeat_by: str = ""
    installation: Installation = Installation()

    @classmethod
    def read(cls, body: Object) -> Self:
        """That of an object; what cannot be read is written anew."""
        try:
            return cls.model_validate(body.get("status") or {})
        except ValidationError:
            return cls()

    def condition(self, type_: str) -> Condition | None:
        """The condition of that type."""
        return next((one for one in self.conditions if one.type == type_), None)

    def is_older(self, than: timedelta, now: datetime) -> bool:
        """Whether it was said longer ago, or at a time that is still to come."""
        return self.heartbeat_time is None or abs(now - self.heartbeat_time) >= than

    def as_patch(self, resource_version: str) -> Object:
        """The patch that writes it, if the object is still the one that was read."""
        conditions = [
            {
                "type": one.type,
                "status": one.status,
                "reason": one.reason,
                "message": one.message,
                "lastTransitionTime": stamp(one.last_transition_time),
            }
            for one in self.conditions
        ]
        heartbeat = stamp(self.heartbeat_time) if self.heartbeat_time else None
        said = {
            "conditions": conditions,
            "heartbeatTime": heartbeat,
            "heartbeatBy": self.heartbeat_by,
            "installation": self.installation.model_dump(by_alias=True),
        }
        return {"metadata": {"resourceVersion": resource_version}, "status": said}


def amended(
    stored: Status,
    statements: Sequence[Statement],
    by: str,
    now: datetime,
    installation: Installation | None = None,
) -> Status | None:
    """What is to be written in the place of `stored`; None: it may stay.

    Without `installation`, the stored one is kept: only the leading detector writes it.
    """
    conditions = tuple(_condition(stored.condition(one.type), one, now) for one in statements)
    kept = installation or stored.installation
    if not _is_renamed(stored.installation, kept) and not _is_due(stored, statements, conditions, now):
        return None
    return Status(conditions=conditions, heartbeat_time=now, heartbeat_by=by, installation=kept)


def _is_renamed(stored: Installation, current: Installation) -> bool:
    """Whether another one is written there.

    An empty one waits for the next heartbeat: an older CustomResourceDefinition prunes the field, and each
    look would write it again.
    """
    return stored not in (current, Installation())


def _is_due(
    stored: Status, statements: Sequence[Statement], conditions: Sequence[Condition], now: datetime
) -> bool:
    known = [stored.condition(one.type) for one in statements]
    if any(old is None or not old.says(one) for old, one in zip(known, statements, strict=True)):
        return True
    if tuple(known) != tuple(conditions):
        return stored.is_older(REWORDED_AFTER, now)
    return stored.is_older(HEARTBEAT, now)


def _condition(old: Condition | None, statement: Statement, now: datetime) -> Condition:
    is_same = old is not None and old.status == statement.status
    return Condition(
        type=statement.type,
        status=statement.status,
        reason=statement.reason,
        message=statement.message[:LONGEST_MESSAGE],
        last_transition_time=old.last_transition_time if old is not None and is_same else now,
    )


def events(status: Status, about: ObjectReference, now: datetime) -> Iterator[EventNote]:
    """What is told of conditions that became so within the last hour; why one is unknown another tells."""
    for one in status.conditions:
        if one.status == Answer.UNKNOWN or now - one.last_transition_time >= TOLD_FOR:
            continue
        yield EventNote(
            name_seed=f"{one.type}\n{one.status}\n{stamp(one.last_transition_time)}",
            type="Normal" if one.status == Answer.TRUE else "Warning",
            reason=one.type if one.status == Answer.TRUE else one.reason,
            message=one.message,
            regarding=about,
        )
