import logging

import pytest

from devcluster.simulation.retrying import FailureLog


def test_only_the_first_of_consecutive_failures_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    log = FailureLog()
    with caplog.at_level(logging.DEBUG):
        for sentence in ("away", "still away", "", "away again"):
            log.report("node-1", sentence)
    levels = [(record.levelname, record.getMessage().rsplit(": ", 1)[1]) for record in caplog.records]
    assert levels == [("WARNING", "away"), ("DEBUG", "still away"), ("WARNING", "away again")]
