"""The pollers of a queue are judged by Temporal's own times, not by the clock of the local machine."""

from datetime import UTC, datetime, timedelta

import pytest
from temporalio.api.deployment.v1 import WorkerDeploymentOptions, WorkerDeploymentVersion
from temporalio.api.enums.v1 import WorkerVersioningMode
from temporalio.api.taskqueue.v1 import PollerInfo, TaskQueueVersioningInfo

from runtime.polling import POLLED_WITHIN, Build, QueuePollers, recent, routed

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
def test_workers_that_polled_a_moment_before_the_last_one_poll(
    pollers: list[PollerInfo], expected: set[str]
) -> None:
    assert {identity for identity, _ in recent(pollers)} == expected


A, B, PLAIN = Build("paramedic", "a"), Build("paramedic", "b"), Build("", "0.1.0")
POLLING = frozenset({("1", A), ("2", B), ("3", PLAIN)})
_A, _B = (WorkerDeploymentVersion(deployment_name=one.deployment, build_id=one.id) for one in (A, B))


@pytest.mark.parametrize(
    ("info", "serving"),
    [
        pytest.param(TaskQueueVersioningInfo(), {"3"}, id="no version is current"),
        pytest.param(TaskQueueVersioningInfo(current_deployment_version=_A), {"1"}, id="one is"),
        pytest.param(
            TaskQueueVersioningInfo(
                current_deployment_version=_A, ramping_deployment_version=_B, ramping_version_percentage=5
            ),
            {"1", "2"},
            id="another ramps up",
        ),
        pytest.param(
            TaskQueueVersioningInfo(ramping_deployment_version=_B, ramping_version_percentage=5),
            {"2", "3"},
            id="the first ramps up beside unversioned workers",
        ),
        pytest.param(
            TaskQueueVersioningInfo(current_deployment_version=_A, ramping_version_percentage=5),
            {"1", "3"},
            id="versions are ramped down to unversioned workers",
        ),
    ],
)
def test_workers_serve_new_workflows_as_temporal_routes_them(
    info: TaskQueueVersioningInfo, serving: set[str]
) -> None:
    assert QueuePollers(POLLING, routed(info)).serving == serving


def test_build_of_a_poller_is_a_version_only_where_it_is_versioned() -> None:
    def polls(mode: WorkerVersioningMode.ValueType) -> Build:
        options = WorkerDeploymentOptions(
            deployment_name="paramedic", build_id="a", worker_versioning_mode=mode
        )
        ((_, build),) = recent([PollerInfo(identity="1", deployment_options=options)])
        return build

    assert polls(WorkerVersioningMode.WORKER_VERSIONING_MODE_VERSIONED) == A
    assert polls(WorkerVersioningMode.WORKER_VERSIONING_MODE_UNVERSIONED) == Build("", "a")
