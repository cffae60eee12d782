"""When an incident asks the detector early, and how long it waits after answers that come too late."""

from datetime import timedelta
from random import Random

import pytest

from health.model.details import Details
from health.model.moves import Deadline, NextEvent, NextTransition, Phase, Wait
from health.runbook.rows import BY_AN_ANSWER
from health.runbook.state import Memory
from tests.support.values.builders import NOW
from workflows.question import LATE_ANSWERS, after_late_answers, spread


@pytest.mark.parametrize(
    ("late", "longest"), [(0, 0), (1, 0), (2, 20), (3, 40), (4, 60), (5, 60), (1000, 60)]
)
def test_pause_between_answers_that_come_too_late_grows_to_a_minute_and_is_not_the_same_for_all(
    late: int, longest: int
) -> None:
    whole, random = timedelta(seconds=longest), Random(1)  # noqa: S311  no secret
    pauses = {after_late_answers(late, random) for _ in range(100)}
    least, most = LATE_ANSWERS.jitter
    assert whole * least <= min(pauses) <= max(pauses) <= whole * most
    assert len(pauses) == (100 if longest else 1)


DAY = timedelta(days=1)
SAFETY_NET = Deadline(NOW + 7 * DAY)
EXPIRES = Deadline(NOW + DAY, NextEvent.APPROVAL_EXPIRES)


@pytest.mark.parametrize(
    ("until", "expected"),
    [
        ((SAFETY_NET,), BY_AN_ANSWER),
        ((EXPIRES, SAFETY_NET), NextTransition(at=EXPIRES.at, what=NextEvent.APPROVAL_EXPIRES)),
    ],
    ids=["for an answer", "for its end"],
)
def test_early_question_is_not_what_a_question_for_an_approval_waits_for(
    until: tuple[Deadline, ...], expected: NextTransition
) -> None:
    wait = Wait(phase=Phase.HELD, details=Details(), until=until, otherwise=BY_AN_ANSWER)
    early = spread(wait, Memory(), NOW, Random(1))  # noqa: S311  no secret
    assert early.next_transition == expected
    timer, before = early.requeue_after(NOW), wait.requeue_after(NOW)
    assert timer is not None
    assert before is not None
    assert timer < before


def test_hold_of_the_detector_is_shown_until_the_early_question() -> None:
    asks = Deadline(NOW + DAY, NextEvent.ASKS_AGAIN)
    wait = Wait(phase=Phase.HELD, details=Details(), until=(asks, SAFETY_NET))
    shown = spread(wait, Memory(), NOW, Random(1)).next_transition  # noqa: S311  no secret
    assert shown.what == NextEvent.ASKS_AGAIN
    assert shown.at is not None
    assert shown.at < asks.at
