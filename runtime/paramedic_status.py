"""ParamedicStatus: the object that shows in Kubernetes whether our processes can work. Pure.

Its conditions are as in Kubernetes: `lastTransitionTime` changes only with the status. It is written at each
change, and every five minutes, as a kubelet writes the status of its Node: one timestamp then shows a reader
whether any process is left to write it.

The leading detector makes all statements, and other processes only that of a missing leader. Only the leader
asks Temporal, so no other process makes a statement about Temporal or workers; without a leader these
conditions become Unknown.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Self

from pydantic import AwareDatetime, ValidationError

from kube.resource import Object, Resource
from objects.durations import in_words
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
NO_WORKER_GRACE = timedelta(minutes=1)
"""How long workers must be absent before that is reported: a restarted Temporal forgets the pollers until
they poll again."""
LEADERLESS_FOR = timedelta(seconds=30)
"""How long a Lease must not be renewed: a standby takes over from a dead leader after 17 s at most."""
NAMED = 3
"""Incidents in one message."""
NEARLY_FULL = 0.8
"""The part of its memory from which on a cache is reported."""
CACHES_NEARLY_FULL, CACHES_FULL = "NearlyFull", "Full"
"""Reasons of the condition CachesHaveRoom."""
NOTHING_IS_LOST = "nothing new is begun and open incidents wait, nothing is lost"


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

    cluster: str | None = None
    """The identity of the cluster; None if no detector has led yet."""
    lease_namespace: str | None = None
    temporal_namespace: str | None = None


class ParamedicCondition(FrozenObject):
    """A condition as it is stored in the object."""

    type: str
    status: str
    reason: str
    message: str
    last_transition_time: AwareDatetime

    def says(self, statement: Statement) -> bool:
        """True if status and reason are the same; the message may differ."""
        return (self.status, self.reason) == (statement.status, statement.reason)


class ParamedicStatusDocument(FrozenObject):
    """The status of the object, as it is stored."""

    conditions: tuple[ParamedicCondition, ...] = ()
    heartbeat_time: AwareDatetime | None = None
    heartbeat_by: str | None = None
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

    def troubles(self, now: datetime) -> tuple[str, ...]:
        """The messages of all conditions that are False, if they were reported not long ago."""
        if self.is_older(STALE, now):
            return ()
        return tuple(condition.message for condition in self.conditions if condition.status == Answer.FALSE)

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
            "installation": self.installation.model_dump(by_alias=True, exclude_none=True),
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
    conditions = tuple(
        ParamedicCondition(
            type=statement.type,
            status=statement.status,
            reason=statement.reason,
            message=statement.message[:LONGEST_MESSAGE],
            last_transition_time=now
            if old is None or old.status != statement.status
            else old.last_transition_time,
        )
        for old, statement in zip(before, statements, strict=True)
    )
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


@dataclass(frozen=True)
class WorkerObservation:
    """The number of workers, as Temporal answered last."""

    polling: int | None = None
    """The number of polling workers; None if Temporal was not asked, or did not answer."""
    none_since: timedelta = timedelta()
    """Since when Temporal has answered zero, by the clock of the caller."""

    def answered(self, polling: int | None, now: timedelta) -> "WorkerObservation":
        goes_on = polling == 0 and self.polling == 0
        return WorkerObservation(polling, self.none_since if goes_on else now)


def by_leader(  # noqa: PLR0913  each is one fact that the leader knows
    identity: str,
    trouble: str | None,
    workers: WorkerObservation,
    queue: str,
    now: timedelta,
    *,
    is_answered: bool = False,
) -> tuple[Statement, ...]:
    """The statements of the leading detector; `trouble` is why Temporal cannot be used, None if it can.

    `is_answered`: Temporal answers, with an error or a namespace that is not set up.
    """
    leading = Statement(ConditionType.DETECTOR_LEADING, Answer.TRUE, "LeaseRenewed", f"{identity} leads")
    reachable, available = ConditionType.TEMPORAL_REACHABLE, ConditionType.WORKER_AVAILABLE
    if trouble:
        reason = "TemporalRefuses" if is_answered else "TemporalUnreachable"
        words = f"{trouble.rstrip('.')}; {NOTHING_IS_LOST}"
        return (
            leading,
            Statement(reachable, Answer.FALSE, reason, words),
            Statement(available, Answer.UNKNOWN, reason, "only Temporal knows the workers"),
        )
    words = "Temporal answers, and its namespace is set up"
    answers = Statement(reachable, Answer.TRUE, "TemporalAnswers", words)
    # The workers.
    absent = f"no worker that takes new workflows polls the task queue {queue}"
    if workers.polling is None:
        words = "Temporal was not asked yet, or did not answer"
        polls = Statement(available, Answer.UNKNOWN, "NotAsked", words)
    elif workers.polling:
        polls = Statement(available, Answer.TRUE, "WorkerPolls", f"a worker polls the task queue {queue}")
    elif now - workers.none_since < NO_WORKER_GRACE:
        polls = Statement(available, Answer.UNKNOWN, "NotSeen", f"{absent}, one may just be starting")
    else:
        polls = Statement(available, Answer.FALSE, "NoWorker", f"{absent}: {NOTHING_IS_LOST}")
    return leading, answers, polls


def of_slots(stuck: str | None, before: ParamedicCondition | None) -> Statement:
    """The leader's statement about slots of limits; `stuck`: who keeps them too long, "" if none does.

    None: a new leader does not know yet which remediations count. Until then the condition `before` stays, so
    that a change of the leader causes no transition.
    """
    condition = ConditionType.SLOTS_AVAILABLE
    if stuck:
        return Statement(condition, Answer.FALSE, "SlotsStuck", stuck)
    if stuck is not None:
        words = "no remediation keeps a slot for over an hour that a target waits for"
        return Statement(condition, Answer.TRUE, "NoSlotStuck", words)
    if before is not None and before.status == Answer.FALSE:
        return Statement(condition, Answer.FALSE, before.reason, before.message)
    return Statement(
        condition, Answer.UNKNOWN, "NotCounted", "the leader does not know yet what is under way"
    )


def of_refusals(refused: Sequence[str]) -> Statement:
    """The leader's statement about incidents that Temporal refuses while it takes others."""
    condition = ConditionType.INCIDENTS_ACCEPTED
    if not refused:
        return Statement(condition, Answer.TRUE, "NoneRefused", "Temporal refuses no single incident")
    more = f"; and {len(refused) - NAMED} more" if len(refused) > NAMED else ""
    words = f"Temporal refuses to start or wake {'; '.join(refused[:NAMED])}{more}"
    return Statement(condition, Answer.FALSE, "IncidentsRefused", words)


def of_caches(fullness: Mapping[str, float]) -> Statement:
    """The leader's statement about its caches of this cluster, by how full each is."""
    condition = ConditionType.CACHES_HAVE_ROOM
    found = {
        f"{source} ({part:.0%})": part for source, part in sorted(fullness.items()) if part >= NEARLY_FULL
    }
    if not found:
        return Statement(condition, Answer.TRUE, "Fits", f"no cache is fuller than {NEARLY_FULL:.0%}")
    if full := [words for words, part in found.items() if part >= 1]:
        words = f"the detector has no memory left for {', '.join(full)}, and reads no more of them"
        return Statement(condition, Answer.FALSE, CACHES_FULL, words)
    words = (
        f"the detector nearly has no memory left for {', '.join(found)}; at 100 % it reads no more of them"
    )
    return Statement(condition, Answer.FALSE, CACHES_NEARLY_FULL, words)


def by_others(lease: str) -> tuple[Statement, ...]:
    """The statements of other processes if no detector leads by that Lease."""
    no_leader = f"no detector has renewed the Lease {lease} for {in_words(LEADERLESS_FOR)}; {NOTHING_IS_LOST}"
    about_temporal = (ConditionType.TEMPORAL_REACHABLE, ConditionType.WORKER_AVAILABLE)
    leaderless = "no detector leads, so Temporal is not asked"
    return (
        Statement(ConditionType.DETECTOR_LEADING, Answer.FALSE, "NoLeader", no_leader),
        *(Statement(type_, Answer.UNKNOWN, "NoLeader", leaderless) for type_ in about_temporal),
        *(
            Statement(type_, Answer.UNKNOWN, "NoLeader", "no detector leads")
            for type_ in ConditionType
            if type_ not in (ConditionType.DETECTOR_LEADING, *about_temporal)
        ),
    )
