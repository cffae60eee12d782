"""What is said of us: by the detector that leads, all of it; by others, that nobody leads. Pure.

Only who leads asks Temporal. So nobody else says anything of Temporal or of workers; and where nobody leads,
what was said of them is taken back.
"""

from dataclasses import dataclass
from datetime import timedelta

from objects.durations import in_words
from runtime.paramedic_status import Answer, Condition, ConditionType, Statement

NOT_SEEN_FOR = timedelta(minutes=1)
"""How long no worker must have been seen before it is said that there is none: a Temporal that has just come
back has forgotten who polls until they poll again."""
LEADERLESS_FOR = timedelta(seconds=30)
"""How long a Lease must not have been renewed: a standby takes over from one who died after 17 s at most."""
NOTHING_IS_LOST = "nothing new is begun and open incidents wait, nothing is lost"


@dataclass(frozen=True)
class WorkerObservation:
    """What Temporal answered about workers."""

    polling: int | None = None
    """How many there are; None: it was not asked, or did not answer."""
    none_since: timedelta = timedelta()
    """Since when, on the clock of who asks, it has answered that there is none."""

    def answered(self, polling: int | None, now: timedelta) -> "WorkerObservation":
        """What is known after one more answer."""
        goes_on = polling == 0 and self.polling == 0
        return WorkerObservation(polling, self.none_since if goes_on else now)


def by_leader(
    identity: str, trouble: str, workers: WorkerObservation, queue: str, now: timedelta
) -> tuple[Statement, ...]:
    """All that the detector that leads says; `trouble` is why Temporal cannot be used, "" if it can."""
    leading = Statement(ConditionType.DETECTOR_LEADING, Answer.TRUE, "LeaseRenewed", f"{identity} leads")
    return leading, _of_temporal(trouble), _of_workers(trouble, workers, queue, now)


def _of_temporal(trouble: str) -> Statement:
    said = ConditionType.TEMPORAL_REACHABLE
    if trouble:
        return Statement(said, Answer.FALSE, "TemporalUnreachable", f"{trouble}; {NOTHING_IS_LOST}")
    return Statement(said, Answer.TRUE, "TemporalAnswers", "Temporal answers, and its namespace is set up")


def _of_workers(trouble: str, workers: WorkerObservation, queue: str, now: timedelta) -> Statement:
    said = ConditionType.WORKER_AVAILABLE
    if trouble:
        return Statement(said, Answer.UNKNOWN, "TemporalUnreachable", "only Temporal knows who works")
    if workers.polling is None:
        return Statement(said, Answer.UNKNOWN, "NotAsked", "Temporal was not asked yet, or did not answer")
    if workers.polling:
        return Statement(said, Answer.TRUE, "WorkerPolls", f"a worker polls the task queue {queue}")
    absent = f"no worker that takes new workflows polls the task queue {queue}"
    if now - workers.none_since < NOT_SEEN_FOR:
        return Statement(said, Answer.UNKNOWN, "NotSeen", f"{absent}, one may just be starting")
    return Statement(said, Answer.FALSE, "NoWorker", f"{absent}: {NOTHING_IS_LOST}")


def of_slots(stuck: str | None, before: Condition | None) -> Statement:
    """What the detector that leads says of the slots of limits; `stuck`: who keeps them, "" where none does.

    None: a new leader does not know yet what counts. Until it does, what was said `before` stays, so that a
    change of the leader is no transition.
    """
    said = ConditionType.SLOTS_AVAILABLE
    if stuck:
        return Statement(said, Answer.FALSE, "SlotsStuck", stuck)
    if stuck is not None:
        words = "no remediation keeps a slot for over an hour that a target waits for"
        return Statement(said, Answer.TRUE, "NoSlotStuck", words)
    if before is not None and before.status == Answer.FALSE:
        return Statement(said, Answer.FALSE, before.reason, before.message)
    return Statement(said, Answer.UNKNOWN, "NotCounted", "the leader does not know yet what is under way")


@dataclass(frozen=True)
class LeaderObservation:
    """What was seen of the leader Lease."""

    version: str
    seen_alive: timedelta
    """When it was seen to change last, on the clock of who looks; the clocks of Leases are for people."""

    def is_leaderless(self, now: timedelta) -> bool:
        """Whether nobody leads, and has not for so long that none will in a moment."""
        return now - self.seen_alive >= LEADERLESS_FOR


def seen(before: LeaderObservation | None, version: str, holder: str, now: timedelta) -> LeaderObservation:
    """What is known after one more look, at a Lease of that version; "" where there is none.

    Who looks for the first time, or after a look that failed, knows nothing of before.
    """
    if before is None or (holder and version != before.version):
        return LeaderObservation(version, now)
    return LeaderObservation(version, before.seen_alive)


def by_others(lease: str) -> tuple[Statement, ...]:
    """What is said where nobody leads by that Lease."""
    nobody = f"no detector has renewed the Lease {lease} for {in_words(LEADERLESS_FOR)}; {NOTHING_IS_LOST}"
    unasked = "no detector leads, so nobody asks Temporal"
    return (
        Statement(ConditionType.DETECTOR_LEADING, Answer.FALSE, "NoLeader", nobody),
        Statement(ConditionType.TEMPORAL_REACHABLE, Answer.UNKNOWN, "NoLeader", unasked),
        Statement(ConditionType.WORKER_AVAILABLE, Answer.UNKNOWN, "NoLeader", unasked),
        Statement(ConditionType.SLOTS_AVAILABLE, Answer.UNKNOWN, "NoLeader", "no detector leads"),
    )
