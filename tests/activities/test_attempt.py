"""What is done within one attempt, and answered before Temporal takes the attempt for lost."""

import asyncio
from datetime import timedelta

from temporalio.common import RetryPolicy

from activities.attempt import Attempt, Failure
from workflows.kit.calls import Contract

ATTEMPT = timedelta(seconds=0.4)


async def test_what_takes_too_long_is_answered_while_the_attempt_still_lasts() -> None:
    attempt = Attempt(Contract("wait", ATTEMPT, None, RetryPolicy()))
    async with asyncio.timeout(ATTEMPT.total_seconds()):
        answer = await attempt.tried("wait", asyncio.Event().wait())

    assert isinstance(answer, Failure)
    assert "it was not done within" in answer.why
