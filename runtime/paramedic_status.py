"""ParamedicStatus: the object that shows in Kubernetes whether our processes can work. Pure.

Its conditions are as in Kubernetes: `lastTransitionTime` changes only with the status. It is written at each
change, and every five minutes, as a kubelet writes the status of its Node: one timestamp then shows a reader
whether any process is left to write it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import repeat
from typing import Self

from pydantic import AwareDatetime, ValidationError

from kube.resource import Object, Resource
from objects.event import Event, Severity
from objects.frozen import FrozenObject
from objects.timestamps import stamp

PARAMEDIC_STATUSES = Resource(
    "paramedic.dev/v1alpha1", "ParamedicStatus", "paramedicstatuses", namespaced=True
)
NAME = "paramedic"
"""The name of the only object, in our namespace."""
HEARTBEAT = timedelta(minutes=5)
STALE = 2 * HEARTBEAT
"""A status is stale after this time, which allows for one late heartbeat."""
REWORDED_AFTER = timedelta(minutes=1)
"""A new message for the same reason is written late: an error of a server may vary each time."""
EVENT_LIFETIME = timedelta(hours=1)
"""As long as an API server keeps Events by default, so that a restarted process repeats none of them."""
LONGEST_MESSAGE = 1000


class ConditionType(StrEnum):
    """The types of conditions in the status."""

    DETECTOR_LEADING = "DetectorLeading"
    TEMPORAL_REACHABLE = "TemporalReachable"
    WORKER_AVAILABLE = "WorkerAvailable"
    SLOTS_AVAILABLE = "SlotsAvailable"
    INCIDENTS_ACCEPTED = "IncidentsAccepted"
    CACHES_HAVE_ROOM = "CachesHaveRoom"


class Answer(StrEnum):
    """The status of a condition, as in Kubernetes."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


@dataclass(frozen=True)
class Statement:
    """The present state of one condition, before it is written."""

    type: ConditionType
    status: Answer
    reason: str
    message: str


class Installation(FrozenObject):
    """The configuration of an installation, which commands compare with their options."""

    cluster: str = ""
    """The identity of the cluster; "" if the detector that wrote the status did not give it."""
    lease_namespace: str = ""
    temporal_namespace: str = ""


class ParamedicCondition(FrozenObject):
    """A condition as it is stored in the object."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: AwareDatetime

    def says(self, statement: Statement) -> bool:
        """True if status and reason are the same; the message may differ."""
        return (self.status, self.reason) == (statement.status, statement.reason)


class ParamedicStatusDocument(FrozenObject):
    """The status of the object, as it is stored."""

    conditions: tuple[ParamedicCondition, ...] = ()
    heartbeat_time: AwareDatetime | None = None
    heartbeat_by: str = ""
    installation: Installation = Installation()

    @classmethod
    def read(cls, body: Object) -> Self:
        """The status of an object; an unreadable one counts as empty, and is overwritten."""
        try:
            return cls.model_validate(body.get("status") or {})
        except ValidationError:
            return cls()

    def condition(self, type_: str) -> ParamedicCondition | None:
        return next((condition for condition in self.conditions if condition.type == type_), None)

    def unmet(self, type_: str) -> ParamedicCondition | None:
        """The condition of this type if it is False."""
        found = self.condition(type_)
        return found if found is not None and found.status == Answer.FALSE else None

    def is_older(self, than: timedelta, now: datetime) -> bool:
        """True if the heartbeat is older, or lies in the future by as much."""
        return self.heartbeat_time is None or abs(now - self.heartbeat_time) >= than

    def as_patch(self, resource_version: str) -> Object:
        """The patch that writes it to this version of the object."""
        conditions = [
            {
                "type": condition.type,
                "status": condition.status,
                "reason": condition.reason,
                "message": condition.message,
                "lastTransitionTime": stamp(condition.last_transition_time),
            }
            for condition in self.conditions
        ]
        heartbeat = stamp(self.heartbeat_time) if self.heartbeat_time else None
        fields = {
            "conditions": conditions,
            "heartbeatTime": heartbeat,
            "heartbeatBy": self.heartbeat_by,
            "installation": self.installation.model_dump(by_alias=True),
        }
        return {"metadata": {"resourceVersion": resource_version}, "status": fields}


def amended(
    stored: ParamedicStatusDocument,
    statements: Sequence[Statement],
    by: str,
    now: datetime,
    installation: Installation | None = None,
) -> ParamedicStatusDocument | None:
    """The status to write in place of `stored`; None if it may stay.

    Without `installation`, the stored one is kept: only the leading detector writes it.
    """
    before = tuple(stored.condition(statement.type) for statement in statements)
    conditions = tuple(map(_condition, before, statements, repeat(now)))
    kept = installation or stored.installation
    # An empty installation waits for the next heartbeat: an older CustomResourceDefinition prunes the field,
    # and each look would write it again.
    is_renamed = stored.installation not in (kept, Installation())
    is_other = any(
        old is None or not old.says(statement) for old, statement in zip(before, statements, strict=True)
    )
    longest = HEARTBEAT if before == conditions else REWORDED_AFTER
    if not (is_renamed or is_other or stored.is_older(longest, now)):
        return None
    return ParamedicStatusDocument(
        conditions=conditions, heartbeat_time=now, heartbeat_by=by, installation=kept
    )


def _condition(old: ParamedicCondition | None, statement: Statement, now: datetime) -> ParamedicCondition:
    is_same = old is not None and old.status == statement.status
    return ParamedicCondition(
        type=statement.type,
        status=statement.status,
        reason=statement.reason,
        message=statement.message[:LONGEST_MESSAGE],
        last_transition_time=old.last_transition_time if old is not None and is_same else now,
    )


def events(status: ParamedicStatusDocument, now: datetime) -> Iterator[Event]:
    """The Events for transitions of the last hour; none for Unknown, whose cause is another condition."""
    for condition in status.conditions:
        if condition.status == Answer.UNKNOWN or now - condition.last_transition_time >= EVENT_LIFETIME:
            continue
        yield Event(
            seed=f"{condition.type}\n{condition.status}\n{stamp(condition.last_transition_time)}",
            severity=Severity.NORMAL if condition.status == Answer.TRUE else Severity.WARNING,
            reason=condition.type if condition.status == Answer.TRUE else condition.reason,
            message=condition.message,
        )
