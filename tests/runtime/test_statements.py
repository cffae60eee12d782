"""Statements about our processes, by the process that can make them."""

from datetime import UTC, datetime, timedelta

import pytest

from runtime.paramedic_status import (
    NO_WORKER_GRACE,
    Answer,
    ConditionType,
    ParamedicCondition,
    Statement,
    WorkerObservation,
    by_leader,
    by_others,
    of_caches,
    of_refusals,
    of_slots,
)

NOW = timedelta(hours=1)
SECOND = timedelta(seconds=1)
TRUE, FALSE, UNKNOWN = Answer


def of_temporal_and_workers(trouble: str | None, workers: WorkerObservation) -> list[tuple[Answer, str]]:
    """The leader's statements about Temporal and workers, in short."""
    leading, *others = by_leader("first", trouble, workers, "queue", NOW)
    assert (leading.status, leading.message) == (TRUE, "first leads")
    return [(one.status, one.reason) for one in others]


@pytest.mark.parametrize(
    ("trouble", "workers", "temporal", "worker"),
    [
        (None, WorkerObservation(), (TRUE, "TemporalAnswers"), (UNKNOWN, "NotAsked")),
        (None, WorkerObservation(2), (TRUE, "TemporalAnswers"), (TRUE, "WorkerPolls")),
        (
            None,
            WorkerObservation(0, NOW - NO_WORKER_GRACE + SECOND),
            (TRUE, "TemporalAnswers"),
            (UNKNOWN, "NotSeen"),
        ),
        (None, WorkerObservation(0, NOW - NO_WORKER_GRACE), (TRUE, "TemporalAnswers"), (FALSE, "NoWorker")),
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
    _, temporal, worker = by_leader("first", trouble, WorkerObservation(2), "queue", NOW, is_answered=True)
    assert (temporal.status, temporal.reason) == (FALSE, "TemporalRefuses")
    assert temporal.message.startswith("Temporal at t:7233 answers PermissionDenied: no; nothing new ")
    assert (worker.status, worker.reason) == (UNKNOWN, "TemporalRefuses")


def test_why_temporal_is_not_reached_and_what_follows_is_in_the_message() -> None:
    temporal = by_leader("first", "Temporal at t:7233 does not answer", WorkerObservation(), "queue", NOW)[1]
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
        *by_leader("first", None, WorkerObservation(), "queue", NOW),
        of_slots("", None),
        of_refusals(()),
        of_caches({}),
    )
    assert types(leader) == types(by_others("lease"))


@pytest.mark.parametrize(
    ("fullness", "status", "named"),
    [
        ({}, TRUE, ""),
        ({"nodes": 0.799}, TRUE, ""),
        ({"nodes": 0.8, "machines": 0.2}, FALSE, "for nodes (80%);"),
        ({"nodes": 1, "machines": 0.9}, FALSE, "for machines (90%), nodes (100%);"),
    ],
)
def test_cache_is_reported_before_it_is_full(fullness: dict[str, float], status: Answer, named: str) -> None:
    said = of_caches(fullness)
    assert (said.type, said.status) == (ConditionType.CACHES_HAVE_ROOM, status)
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
