"""The worker that answers questions is created while the event loop waits for it."""

from typing import NoReturn, cast

import pytest
from temporalio.worker import _worker

from detector.answers.answering import Answering
from detector.dispatching.dispatch import Dispatch
from detector.state.cluster_state import ClusterState
from devcluster.temporal import TemporalServer
from health.model.observation import Observation
from health.model.references import IncidentReference
from tests.support.cluster.temporal_servers import client_of
from workflows.contracts import detector_queue


def unasked(_: IncidentReference) -> Observation:
    raise AssertionError


async def test_worker_is_made_without_a_hash_of_all_modules(
    temporal_server: TemporalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hashed(*, memoize: bool = True) -> NoReturn:
        raise AssertionError(memoize)

    monkeypatch.setattr(_worker, "load_default_build_id", hashed)
    dispatch = cast("Dispatch", None)  # the worker only gets questions, and there is none
    answering = Answering(unasked, dispatch, ClusterState("test"), lambda: True, lambda *_: None)
    client = await client_of(temporal_server)
    worker = answering.worker(client, "test")
    assert worker.task_queue == detector_queue("test")
