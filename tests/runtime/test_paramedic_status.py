"""The content of the ParamedicStatus, and the times of its writes."""

from datetime import UTC, datetime, timedelta

import pytest

from runtime.paramedic_status import (
    EVENT_LIFETIME,
    HEARTBEAT,
    REWORDED_AFTER,
    Answer,
    ConditionType,
    Installation,
    ParamedicStatusDocument,
    Statement,
    amended,
    events,
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
