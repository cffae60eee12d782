"""Problems: the reasons why work cannot be done, one sentence per part, logged once per transition.

The problems of the process itself make it unready. Problems that affect only a part of the work are in a
separate object, otherwise a single missing right would make the whole process unready.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TypeVar

from temporalio.service import RPCError

from kube.errors import retry_after
from objects.backoff import EQUAL_JITTER, Backoff
from runtime.temporal_trouble import NOT_USABLE, SILENCE, answered, is_silence

_log = logging.getLogger(__name__)
Result = TypeVar("Result")
BACKOFF = Backoff(timedelta(seconds=0.5), timedelta(seconds=10), jitter=EQUAL_JITTER)


class Problems:
    """The open problems of a process, which is ready without any, or of a part of its work."""

    def __init__(self, consequence: str = "not ready") -> None:
        """`consequence` is the message of each log entry."""
        self._consequence = consequence
        self._open: dict[str, str] = {}

    def report(self, part: str, sentence: str | None) -> None:
        """Record the problem of `part`; None means that it is solved."""
        if self._open.get(part) == sentence:
            return
        if sentence is not None:
            self._open[part] = sentence
            _log.warning(self._consequence, extra={"part": part, "problem": sentence})
            return
        del self._open[part]
        _log.info("well again", extra={"part": part})

    def sentence(self, part: str) -> str | None:
        return self._open.get(part)

    @property
    def sentences(self) -> tuple[str, ...]:
        return tuple(f"{part}: {sentence}" for part, sentence in self._open.items())


async def retry_forever(
    part: str,
    attempt: Callable[[], Awaitable[Result]],
    errors: tuple[type[Exception], ...],
    problems: Problems,
    backoff: Backoff = BACKOFF,
) -> Result:
    """The result of `attempt`, retried without a limit after `errors`, which may be temporary.

    The reason is reported once per transition. A Retry-After of a server is respected.
    """
    failures = 0
    while True:
        try:
            result = await attempt()
        except errors as error:
            problems.report(part, one_sentence(error))
            _log.debug("attempt failed", exc_info=error, extra={"part": part})
            failures += 1
            wait = backoff.wait(failures, random.random())  # noqa: S311  spreads retries, hides no secret
            await asyncio.sleep((retry_after(error) + wait).total_seconds())
        else:
            problems.report(part, None)
            return result


def one_sentence(error: BaseException) -> str:
    """The message of an error on one line, or its type; of an answer of Temporal with its status."""
    if isinstance(error, RPCError) and error.message == NOT_USABLE:
        return NOT_USABLE  # it may have answered with an error, which TemporalLink reports
    if is_silence(error):
        return SILENCE
    if isinstance(error, RPCError):
        return answered(error)
    return " ".join(str(error).split()) or type(error).__name__
