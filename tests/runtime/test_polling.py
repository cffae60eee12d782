"""Who polls is told by Temporal's own times, whatever the clock says of the machine that asks."""

from datetime import UTC, datetime, timedelta

import pytest
from temporalio.api.taskqueue.v1 import PollerInfo

from runtime.polling import POLLED_WITHIN, recent

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def poller(identity: str, ago: timedelta) -> PollerInfo:
    made = PollerInfo(identity=identity)
    made.last_access_time.FromDatetime(LONG_AGO - ago)
    return made


@pytest.mark.parametrize(
    ("pollers", "expected"),
    [
        pytest.param([], set(), id="nobody"),
        pytest.param([poller("a", timedelta())], {"a"}, id="by a clock that is years off"),
        pytest.param([poller("a", timedelta()), poller("b", POLLED_WITHIN)], {"a", "b"}, id="two"),
        pytest.param([poller("a", timedelta()), poller("b", POLLED_WITHIN + SECOND)], {"a"}, id="killed"),
        pytest.param([poller("a", timedelta()), poller("a", SECOND)], {"a"}, id="one that polls twice"),
    ],
)
def test_those_poll_who_did_a_moment_before_the_last_one(
    pollers: list[PollerInfo], expected: set[str]
) -> None:
    assert recent(pollers) == expected
