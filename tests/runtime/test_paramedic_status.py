"""The content of the ParamedicStatus: its statements, and the times of its writes."""

from datetime import UTC, datetime, timedelta

import pytest

from runtime.paramedic_status import (
    EVENT_LIFETIME,
    HEARTBEAT,
    NO_WORKER_GRACE,
    REWORDED_AFTER,
    STALE,
    Answer,
    ConditionType,
    Installation,
    ParamedicCondition,
    ParamedicStatusDocument,
    Statement,
    WorkerObservation,
    amended,
    by_leader,
    by_others,
    events,
    of_caches,
    of_refusals,
    of_slots,
)

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
WELL = Statement(ConditionType.TEMPORAL_REACHABLE, Answer.TRUE, "TemporalAnswers", "it answers")
AWAY = Statement(ConditionType.TEMPORAL_REACHABLE, Answer.FALSE, "TemporalUnreachable", "it does not")


def written(
    statement: Statement, now: datetime = NOW, stored: ParamedicStatusDocument | None = None
) -> ParamedicStatusDocument:
    """The document after this statement was written."""
    found = amended(stored or ParamedicStatusDocument(), [statement], "who", now)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("statement", "later", "is_written"),
    [
        (WELL, SECOND, False),
        (WELL, HEARTBEAT - SECOND, False),
        (WELL, HEARTBEAT, True),
        (WELL, -HEARTBEAT, True),
        (AWAY, SECOND, True),
        (Statement(WELL.type, WELL.status, "Other", WELL.message), SECOND, True),
        (Statement(WELL.type, WELL.status, WELL.reason, "in other words"), REWORDED_AFTER - SECOND, False),
        (Statement(WELL.type, WELL.status, WELL.reason, "in other words"), REWORDED_AFTER, True),
    ],
    ids=[
        "nothing changed",
        "almost a heartbeat",
        "a heartbeat",
        "a heartbeat that is still to come",
        "another status",
        "another reason",
        "other words at once",
        "other words later",
    ],
)
def test_status_is_written_when_it_changes_and_every_five_minutes(
    statement: Statement, later: timedelta, *, is_written: bool
) -> None:
    found = amended(written(WELL), [statement], "who", NOW + later)
    assert (found is not None) is is_written


def test_time_of_a_transition_is_that_of_its_status_alone() -> None:
    well = written(WELL)
    other_reason = Statement(WELL.type, WELL.status, "Other", "other")
    same = written(other_reason, NOW + SECOND, well)
    assert [condition.last_transition_time for condition in same.conditions] == [NOW]
    assert same.heartbeat_time == NOW + SECOND

    away = written(AWAY, NOW + 2 * SECOND, same)
    assert [condition.last_transition_time for condition in away.conditions] == [NOW + 2 * SECOND]


OURS = Installation(cluster="prod-1a2b3c4d", lease_namespace="leases", temporal_namespace="default")


def test_installation_is_written_with_the_first_status_and_kept_by_those_that_do_not_lead() -> None:
    first = amended(ParamedicStatusDocument(), [WELL], "leader", NOW, OURS)
    assert first is not None
    assert first.installation == OURS
    kept = amended(first, [AWAY], "worker", NOW + SECOND)
    assert kept is not None
    assert kept.installation == OURS


def test_other_installation_is_written_at_once_and_one_that_is_pruned_only_with_a_heartbeat() -> None:
    renamed = OURS.model_copy(update={"cluster": "production-1a2b3c4d"})
    first = amended(ParamedicStatusDocument(), [WELL], "leader", NOW, OURS)
    assert first is not None
    assert amended(first, [WELL], "leader", NOW + SECOND, OURS) is None
    second = amended(first, [WELL], "leader", NOW + SECOND, renamed)
    assert second is not None
    assert second.installation == renamed

    pruned = first.model_copy(update={"installation": Installation()})
    assert amended(pruned, [WELL], "leader", NOW + SECOND, OURS) is None
    assert amended(pruned, [WELL], "leader", NOW + HEARTBEAT, OURS) is not None


def test_patch_holds_for_the_object_that_was_read_and_is_read_as_it_was_meant() -> None:
    status = written(AWAY)
    patch = status.as_patch("7")
    assert patch["metadata"] == {"resourceVersion": "7"}
    assert ParamedicStatusDocument.read(patch) == status


@pytest.mark.parametrize("stored", [{}, {"status": None}, {"status": {"conditions": [{"type": "a"}]}}])
def test_status_that_is_missing_or_cannot_be_read_is_written_anew(stored: dict[str, object]) -> None:
    assert ParamedicStatusDocument.read(stored) == ParamedicStatusDocument()


@pytest.mark.parametrize(
    ("statement", "told"),
    [(AWAY, ("Warning", "TemporalUnreachable")), (WELL, ("Normal", "TemporalReachable"))],
)
def test_transition_emits_one_event_for_an_hour(statement: Statement, told: tuple[str, str]) -> None:
    status = written(statement)
    first, again = (list(events(status, NOW + later)) for later in (timedelta(), EVENT_LIFETIME - SECOND))
    assert [(event.severity, event.reason) for event in first] == [told]
    assert [event.seed for event in again] == [event.seed for event in first]
    assert not list(events(status, NOW + EVENT_LIFETIME))


def test_unknown_answer_is_not_reported() -> None:
    unknown = Statement(ConditionType.WORKER_AVAILABLE, Answer.UNKNOWN, "NoLeader", "nobody asks")
    assert not list(events(written(unknown), NOW))


UPTIME = timedelta(hours=1)
TRUE, FALSE, UNKNOWN = Answer


def of_temporal_and_workers(trouble: str | None, workers: WorkerObservation) -> list[tuple[Answer, str]]:
    """The leader's statements about Temporal and workers, in short."""
    leading, *others = by_leader("first", trouble, workers, "queue", UPTIME)
    assert (leading.status, leading.message) == (TRUE, "first leads")
    return [(one.status, one.reason) for one in others]


@pytest.mark.parametrize(
    ("trouble", "workers", "temporal", "worker"),
    [
        (None, WorkerObservation(), (TRUE, "TemporalAnswers"), (UNKNOWN, "NotAsked")),
        (None, WorkerObservation(2), (TRUE, "TemporalAnswers"), (TRUE, "WorkerPolls")),
        (
            None,
            WorkerObservation(0, UPTIME - NO_WORKER_GRACE + SECOND),
            (TRUE, "TemporalAnswers"),
            (UNKNOWN, "NotSeen"),
        ),
        (
            None,
            WorkerObservation(0, UPTIME - NO_WORKER_GRACE),
            (TRUE, "TemporalAnswers"),
            (FALSE, "NoWorker"),
        ),
        ("away", WorkerObservation(2), (FALSE, "TemporalUnreachable"), (UNKNOWN, "TemporalUnreachable")),
    ],
    ids=["not asked yet", "well", "it may be starting", "no worker", "Temporal is away"],
)
def test_leader_says_all_that_temporal_tells(
    trouble: str | None, workers: WorkerObservation, temporal: tuple[Answer, str], worker: tuple[Answer, str]
) -> None:
    assert of_temporal_and_workers(trouble, workers) == [temporal, worker]


def test_temporal_that_answers_with_an_error_is_not_called_unreachable() -> None:
    trouble = "Temporal at t:7233 answers PermissionDenied: no."
    _, temporal, worker = by_leader("first", trouble, WorkerObservation(2), "queue", UPTIME, is_answered=True)
    assert (temporal.status, temporal.reason) == (FALSE, "TemporalRefuses")
    assert temporal.message.startswith("Temporal at t:7233 answers PermissionDenied: no; nothing new ")
    assert (worker.status, worker.reason) == (UNKNOWN, "TemporalRefuses")


def test_why_temporal_is_not_reached_and_what_follows_is_in_the_message() -> None:
    temporal = by_leader("first", "Temporal at t:7233 does not answer", WorkerObservation(), "queue", UPTIME)[
        1
    ]
    assert temporal.message == (
        "Temporal at t:7233 does not answer; nothing new is begun and open incidents wait, nothing is lost"
    )


@pytest.mark.parametrize(
    ("answers", "none_since"),
    [([0, 0, 0], 1), ([0, 1, 0], 3), ([0, None, 0], 3), ([2, 0, 0], 2)],
    ids=["never one", "one in between", "no answer in between", "one before"],
)
def test_that_there_is_no_worker_counts_from_the_first_answer_that_says_so(
    answers: list[int | None], none_since: int
) -> None:
    workers = WorkerObservation()
    for second, polling in enumerate(answers, start=1):
        workers = workers.answered(polling, second * SECOND)
    assert workers == WorkerObservation(0, none_since * SECOND)


def test_troubles_are_the_messages_of_false_conditions_of_a_fresh_status() -> None:
    said = (*by_leader("first", None, WorkerObservation(1), "queue", UPTIME), of_caches({"nodes": 1}))
    status = amended(ParamedicStatusDocument(), said, "first", NOW)
    assert status is not None
    full = "the detector has no memory left for nodes (100%), and reads no more of them"
    assert status.troubles(NOW + STALE - SECOND) == (full,)
    assert status.troubles(NOW + STALE) == ()


def test_without_a_leader_its_statements_become_unknown() -> None:
    leading, *others = by_others("ours/paramedic-detector")
    assert (leading.type, leading.status, leading.reason) == (
        ConditionType.DETECTOR_LEADING,
        FALSE,
        "NoLeader",
    )
    assert "the Lease ours/paramedic-detector for 30s" in leading.message
    assert {one.status for one in others} == {UNKNOWN}
    assert {one.type for one in (leading, *others)} == set(ConditionType)


def test_leader_and_others_speak_of_the_same_conditions() -> None:
    def types(statements: tuple[Statement, ...]) -> list[ConditionType]:
        return [statement.type for statement in statements]

    leader = (
        *by_leader("first", None, WorkerObservation(), "queue", UPTIME),
        of_slots("", None),
        of_refusals(()),
        of_caches({}),
    )
    assert types(leader) == types(by_others("lease"))


@pytest.mark.parametrize(
    ("fullness", "status", "reason", "named"),
    [
        ({}, TRUE, "Fits", ""),
        ({"nodes": 0.799}, TRUE, "Fits", ""),
        ({"nodes": 0.8, "machines": 0.2}, FALSE, "NearlyFull", "nearly has no memory left for nodes (80%);"),
        ({"nodes": 0.99, "machines": 0.9}, FALSE, "NearlyFull", "left for machines (90%), nodes (99%);"),
        ({"nodes": 1, "machines": 0.9}, FALSE, "Full", "has no memory left for nodes (100%), and"),
    ],
)
def test_cache_is_reported_before_it_is_full_and_when_it_is(
    fullness: dict[str, float], status: Answer, reason: str, named: str
) -> None:
    said = of_caches(fullness)
    assert (said.type, said.status, said.reason) == (ConditionType.CACHES_HAVE_ROOM, status, reason)
    assert named in said.message


STUCK = ParamedicCondition(
    type=ConditionType.SLOTS_AVAILABLE,
    status=FALSE,
    reason="SlotsStuck",
    message="node-1 since noon",
    last_transition_time=datetime(2026, 3, 1, tzinfo=UTC),
)


@pytest.mark.parametrize(
    ("stuck", "before", "said"),
    [
        ("node-2 since noon", None, (FALSE, "SlotsStuck", "node-2 since noon")),
        (
            "",
            STUCK,
            (TRUE, "NoSlotStuck", "no remediation keeps a slot for over an hour that a target waits for"),
        ),
        (None, STUCK, (FALSE, "SlotsStuck", "node-1 since noon")),
        (None, None, (UNKNOWN, "NotCounted", "the leader does not know yet what is under way")),
    ],
)
def test_slots_that_are_stuck_are_named_and_a_new_leader_takes_nothing_back_before_it_knows(
    stuck: str | None, before: ParamedicCondition | None, said: tuple[str, str, str]
) -> None:
    statement = of_slots(stuck, before)
    assert (statement.status, statement.reason, statement.message) == said
