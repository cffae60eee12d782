"""Work within one attempt of an activity is answered before its timeout."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial

import pytest
from temporalio.common import RetryPolicy
from temporalio.testing import ActivityEnvironment

from activities.attempt import Attempt, AttemptFailure
from objects.metadata import ObjectMetadata
from workflows.kit import Contract

ATTEMPT = timedelta(seconds=0.4)


def attempt() -> Attempt:
    return Attempt(Contract(name="wait", start_to_close=ATTEMPT, schedule_to_close=None, retry=RetryPolicy()))


async def test_slow_work_is_answered_before_the_attempt_times_out() -> None:
    async with asyncio.timeout(ATTEMPT.total_seconds()):
        answer = await attempt().tried("wait", asyncio.Event().wait())

    assert isinstance(answer, AttemptFailure)
    assert "it was not done within" in answer.why


async def _read(document: object) -> ObjectMetadata:
    return ObjectMetadata.model_validate(document)


async def _fail() -> None:
    raise KeyError("uid")


@pytest.mark.parametrize(
    ("work", "why"),
    [
        (partial(_read, {"name": "a", "uid": 3}), "an object cannot be read: uid: must be text (found 3)"),
        (partial(_read, []), "an object cannot be read: must be a mapping (found [])"),
        (_fail, "KeyError: 'uid'"),
    ],
)
async def test_unforeseen_error_is_answered_in_plain_words(
    work: Callable[[], Awaitable[object]], why: str
) -> None:
    answer = await ActivityEnvironment().run(lambda: attempt().tried("read", work()))
    assert isinstance(answer, AttemptFailure)
    assert answer.why == why
