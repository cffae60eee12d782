from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from detector.reporting import report_queue, target_reporter
from objects.backoff import Backoff
from tests.detector.clusterapi.reporting import Reporting, reporting
from tests.support.api.api_server import ApiServer


@pytest.fixture
async def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Reporting]:
    """A reporter with short intervals that writes one status at a time; `edge` is still empty."""
    monkeypatch.setattr(target_reporter, "WRITERS", 1)
    monkeypatch.setattr(target_reporter, "LOOK_AGAIN", timedelta(seconds=0.1))
    monkeypatch.setattr(report_queue, "RETRIES", Backoff(timedelta(seconds=0.05), timedelta(minutes=1)))
    monkeypatch.setattr(report_queue, "SHORTEST_REST", timedelta())
    monkeypatch.setattr(report_queue, "LONGEST_REST", timedelta())
    async with ApiServer(tmp_path) as server, reporting(server) as made:
        yield made
