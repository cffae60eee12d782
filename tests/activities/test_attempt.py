"""Work within one attempt of an activity is answered before its timeout."""

import asyncio
from datetime import timedelta

from temporalio.common import RetryPolicy

from activities.attempt import Attempt, AttemptFailure
from workflows.kit.calls import Contract

ATTEMPT = timedelta(seconds=0.4)


async def test_slow_work_is_answered_before_the_attempt_times_out() -> None:
    attempt = Attempt(
        Contract(name="wait", start_to_close=ATTEMPT, schedule_to_close=None, retry=RetryPolicy())
    )
    async with asyncio.timeout(ATTEMPT.total_seconds()):
        answer = await attempt.tried("wait", asyncio.Event().wait())

    assert isinstance(answer, AttemptFailure)
    assert "it was not done within" in answer.why
