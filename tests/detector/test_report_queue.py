"""The queue of reports: each key once, urgent ones first, and failed ones again after growing pauses."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from itertools import pairwise

import pytest

from detector.reporting import report_queue
from detector.reporting.report_queue import LONGEST_REST, SHORTEST_REST, ReportQueue, rest_after
from kube.errors import Conflict, KubernetesError, NotFound, TooManyRequests
from objects.backoff import Backoff
from runtime.guard import Guard
from tests.support.api.eventually import eventually

SOON = timedelta(seconds=0.05)
BROKEN = KubernetesError("it is broken")


class Reports:
    """The reports of one queue, which notes each, and what the next ones on a key raise or return."""

    def __init__(self, at_once: float = 1) -> None:
        self.made: list[str] = []
        self.times: list[float] = []
        self.next: list[Exception | timedelta | None] = []
        self.may_end = asyncio.Event()
        self.may_end.set()
        self.queue: ReportQueue[str] = ReportQueue(
            name="reports",
            report=self._report,
            guard=Guard(),
            is_urgent=lambda key: key.startswith("urgent"),
            at_once=at_once,
        )

    async def _report(self, key: str) -> timedelta | None:
        self.made.append(key)
        self.times.append(time.monotonic())
        await self.may_end.wait()
        outcome = self.next.pop(0) if self.next else None
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    @asynccontextmanager
    async def leading(self, *keys: str) -> AsyncIterator[None]:
        def begin() -> None:
            self.put(keys)

        task = asyncio.create_task(self.queue.lead(begin))
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    def put(self, keys: Iterable[str]) -> None:
        for key in keys:
            self.queue.put(key)

    async def are(self, *keys: str) -> None:
        await eventually(lambda: len(self.made) >= len(keys) and not any(map(self.queue.waits, keys)))
        assert self.made == [*keys]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries follow each other within a second, and no key rests."""
    monkeypatch.setattr(report_queue, "RETRIES", Backoff(SOON, timedelta(minutes=1)))
    monkeypatch.setattr(report_queue, "SHORTEST_REST", timedelta())


@pytest.mark.parametrize(
    ("took", "rest"),
    [
        pytest.param(timedelta(), SHORTEST_REST, id="a short one at least"),
        pytest.param(timedelta(milliseconds=10), SHORTEST_REST, id="a small one as often"),
        pytest.param(timedelta(milliseconds=200), timedelta(seconds=1.8), id="a tenth of the time"),
        pytest.param(timedelta(seconds=10), LONGEST_REST, id="not longer because the API server hung"),
    ],
)
def test_report_is_followed_by_a_rest_as_long_as_it_is_large(took: timedelta, rest: timedelta) -> None:
    assert rest_after(took) == rest


@pytest.mark.usefixtures("quick")
async def test_urgent_keys_come_first_and_the_others_in_their_order() -> None:
    reports = Reports()
    async with reports.leading("b", "a", "urgent", "b"):
        await reports.are("urgent", "b", "a")


async def test_changes_of_a_key_while_it_is_reported_on_or_rests_are_one_more_report() -> None:
    reports = Reports()
    reports.may_end.clear()
    async with reports.leading("a"):
        await eventually(lambda: reports.made)
        reports.put("aaa")
        assert reports.queue.waits("a")
        reports.may_end.set()
        await eventually(lambda: len(reports.made) > 1)
        assert reports.times[1] - reports.times[0] >= SHORTEST_REST.total_seconds()
        await reports.are("a", "a")


@pytest.mark.usefixtures("quick")
async def test_key_is_reported_on_again_after_the_time_that_its_report_returns() -> None:
    reports = Reports()
    reports.next = [SOON]
    async with reports.leading("a"):
        await eventually(lambda: len(reports.made) == 2)
        assert reports.times[1] - reports.times[0] >= SOON.total_seconds()


@pytest.mark.usefixtures("quick")
async def test_earliest_of_two_later_times_counts_and_a_report_before_it_replaces_it() -> None:
    reports = Reports()
    async with reports.leading():
        await asyncio.sleep(0)
        for after in (timedelta(minutes=1), SOON, timedelta(hours=1)):
            reports.queue.put("a", after)
        await reports.are("a")
        reports.queue.put("a", 3 * SOON)
        reports.queue.put("a")
        await eventually(lambda: len(reports.made) == 2)
        await asyncio.sleep(4 * SOON.total_seconds())
        assert reports.made == ["a", "a"]


@pytest.mark.usefixtures("quick")
async def test_failed_report_is_repeated_after_growing_pauses_and_delays_no_other() -> None:
    reports = Reports()
    reports.next = [BROKEN, BROKEN, BROKEN]
    async with reports.leading("a"):
        await eventually(lambda: len(reports.made) == 3)
        reports.put("ab")
        await eventually(lambda: "b" in reports.made)
        await eventually(lambda: len(reports.made) == 5)
    of_a = [at for key, at in zip(reports.made, reports.times, strict=True) if key == "a"]
    pauses = [after - before for before, after in pairwise(of_a)]
    assert [pause >= expected for pause, expected in zip(pauses, (0.05, 0.1, 0.2), strict=True)] == [True] * 3


@pytest.mark.usefixtures("quick")
async def test_failed_report_is_repeated_no_earlier_than_the_api_server_asks() -> None:
    reports = Reports()
    reports.next = [TooManyRequests("busy", retry_after=timedelta(seconds=0.5))]
    async with reports.leading("a"):
        await eventually(lambda: len(reports.made) == 2)
        assert reports.times[1] - reports.times[0] > 0.5


@pytest.mark.usefixtures("quick")
async def test_report_that_is_only_behind_the_watch_is_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "detector")
    reports = Reports()
    reports.next = [Conflict("changed"), NotFound("gone"), BROKEN]
    async with reports.leading("a"):
        await eventually(lambda: len(reports.made) == 4)
    levels = [record.levelno for record in caplog.records if record.message == "report not written yet"]
    assert levels == [logging.DEBUG, logging.DEBUG, logging.WARNING]


@pytest.mark.usefixtures("quick")
async def test_unexpected_error_ends_only_that_report() -> None:
    reports = Reports()
    reports.next = [ValueError("unexpected")]
    async with reports.leading("a", "b"):
        await reports.are("a", "b")
        reports.put("a")
        await reports.are("a", "b", "a")


@pytest.mark.usefixtures("quick")
async def test_reports_of_other_keys_run_at_the_same_time_up_to_the_limit() -> None:
    reports = Reports(at_once=2)
    reports.may_end.clear()
    async with reports.leading("a", "b", "c"):
        await eventually(lambda: len(reports.made) == 2)
        await asyncio.sleep(SOON.total_seconds())
        assert reports.made == ["a", "b"]
        reports.may_end.set()
        await reports.are("a", "b", "c")


@pytest.mark.usefixtures("quick")
async def test_standby_reports_nothing_and_a_new_term_begins_without_earlier_keys() -> None:
    reports = Reports()
    reports.put("a")
    reports.next = [BROKEN]
    async with reports.leading("b"):
        await eventually(lambda: reports.made)
    reports.put("a")
    async with reports.leading("c"):
        await asyncio.sleep(2 * SOON.total_seconds())
    assert reports.made == ["b", "c"]
