"""How long an incident waits between answers that come too late."""

from datetime import timedelta
from random import Random

import pytest

from workflows.question import LATE_ANSWERS, after_late_answers


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
