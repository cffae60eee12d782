"""How often a status is written."""

from datetime import timedelta

import pytest

from detector.reporting.status_reporter import BETWEEN_WRITES, GATHER, LONGEST_PAUSE, pause_after


@pytest.mark.parametrize(
    ("took", "rest"),
    [
        pytest.param(timedelta(), BETWEEN_WRITES - GATHER, id="twice a second at most"),
        pytest.param(timedelta(milliseconds=10), BETWEEN_WRITES - GATHER, id="a small one as often"),
        pytest.param(timedelta(milliseconds=200), timedelta(seconds=1.8), id="a tenth of the time"),
        pytest.param(timedelta(seconds=10), LONGEST_PAUSE, id="not longer because the API server hung"),
    ],
)
def test_report_is_followed_by_a_rest_as_long_as_it_is_large(took: timedelta, rest: timedelta) -> None:
    assert pause_after(took) == rest
