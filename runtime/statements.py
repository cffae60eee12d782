"""Statements for the ParamedicStatus: all by the leading detector, a missing leader by others. Pure.

Only the leader asks Temporal. So no other process makes a statement about Temporal or workers; without a
leader these conditions become Unknown.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from objects.durations import in_words
from runtime.paramedic_status import Answer, ConditionType, ParamedicCondition, Statement

NO_WORKER_GRACE = timedelta(minutes=1)
"""How long workers must be absent before that is reported: a restarted Temporal forgets the pollers until
they poll again."""
LEADERLESS_FOR = timedelta(seconds=30)
"""How long a Lease must not be renewed: a standby takes over from a dead leader after 17 s at most."""
NAMED = 3
"""Incidents in one message."""
NEARLY_FULL = 0.8
"""The part of its memory from which on a cache is reported."""
NOTHING_IS_LOST = "nothing new is begun and open incidents wait, nothing is lost"


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
    trouble: str,
    workers: WorkerObservation,
    queue: str,
    now: timedelta,
    *,
    is_answered: bool = False,
) -> tuple[Statement, ...]:
    """The statements of the leading detector; `trouble` is why Temporal cannot be used, "" if it can.

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
    full = [f"{source} ({part:.0%})" for source, part in sorted(fullness.items()) if part >= NEARLY_FULL]
    if not full:
        return Statement(condition, Answer.TRUE, "Fits", f"no cache is fuller than {NEARLY_FULL:.0%}")
    words = f"the detector nearly has no memory left for {', '.join(full)}; at 100 % it reads no more of them"
    return Statement(condition, Answer.FALSE, "NearlyFull", words)


def by_others(lease: str) -> tuple[Statement, ...]:
    """The statements of other processes if no detector leads by that Lease."""
    no_leader = f"no detector has renewed the Lease {lease} for {in_words(LEADERLESS_FOR)}; {NOTHING_IS_LOST}"
    leaderless = "no detector leads, so Temporal is not asked"
    return (
        Statement(ConditionType.DETECTOR_LEADING, Answer.FALSE, "NoLeader", no_leader),
        Statement(ConditionType.TEMPORAL_REACHABLE, Answer.UNKNOWN, "NoLeader", leaderless),
        Statement(ConditionType.WORKER_AVAILABLE, Answer.UNKNOWN, "NoLeader", leaderless),
        Statement(ConditionType.SLOTS_AVAILABLE, Answer.UNKNOWN, "NoLeader", "no detector leads"),
        Statement(ConditionType.INCIDENTS_ACCEPTED, Answer.UNKNOWN, "NoLeader", "no detector leads"),
        Statement(ConditionType.CACHES_HAVE_ROOM, Answer.UNKNOWN, "NoLeader", "no detector leads"),
    )
