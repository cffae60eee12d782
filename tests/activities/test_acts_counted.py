"""Counters of an activity, by its input and its result."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from temporalio.testing import ActivityEnvironment
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput

from health.model.observation import Hold, HoldReason
from health.model.references import Action, CheckReference, IncidentReference, Step, TargetReference
from health.model.verdict import Fact
from health.runbook.failures import TaskFailure
from health.runbook.memory_parts import RequestDelay
from tests.support.values.metric_samples import Series, scrape, series
from worker.metrics_interceptor import MetricsInterceptor
from worker.worker_metrics import WorkerMetrics
from workflows.contracts import ACT, ANNOTATE, CLEAN_UP, RENEW, ActInput, ActResult, RenewResult
from workflows.kit import Contract

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
DELETED = series("mapi_machinehealthcheck_remediation_success_total", name="workers", namespace="machines")
DELAY = "paramedic_request_delay_seconds_sum"
ISSUED = ActResult.disrupted(NOW)
UNDER_WAY = ActResult.disrupted()
HELD = ActResult.held(Hold(reason=HoldReason.NO_CONTROLLER, message="nobody would replace it"))


class Answering(ActivityInboundInterceptor):
    def __init__(self, result: object) -> None:
        self._result = result

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:  # noqa: A002, ARG002  the SDK names it
        return self._result


def order(action: Action) -> ActInput:
    return ActInput(
        incident=IncidentReference(
            cluster="c",
            check=CheckReference(kind="MachineHealthCheck", namespace="machines", name="workers"),
            target=TargetReference(kind="Machine", namespace="machines", name="m-1", uid="uid"),
        ),
        run_id="run",
        step=Step(action=action),
        fact=Fact(condition="Ready", status="False", since=NOW),
        generation=1,
    )


def delayed(request: ActInput) -> ActInput:
    """The same for a first step, 5 min of duration and 2 min of a hold after the failure."""
    times = RequestDelay(failed=NOW - MINUTE * 10, deadline=NOW - MINUTE * 5, hold_seconds=120)
    return request.model_copy(update={"delay": times})


class Failing(ActivityInboundInterceptor):
    def __init__(self, error: Exception) -> None:
        self._error = error

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:  # noqa: A002, ARG002  the SDK names it
        raise self._error


async def run(registry: CollectorRegistry, name: str, asked: object, result: object) -> None:
    assert await answer(registry, name, asked, Answering(result)) is result


async def answer(
    registry: CollectorRegistry, name: str, asked: object, activity: ActivityInboundInterceptor
) -> object:
    interceptor = MetricsInterceptor(WorkerMetrics(registry)).intercept_activity(activity)
    environment = ActivityEnvironment()
    environment.info = replace(environment.info, activity_type=name)
    call = ExecuteActivityInput(fn=Answering, args=[asked], executor=None, headers={})
    return await environment.run(interceptor.execute_activity, call)


async def counted(name: str, asked: object, result: object) -> dict[Series, float]:
    registry = CollectorRegistry()
    await run(registry, name, asked, result)
    return {
        key: value
        for key, value in scrape(registry).items()
        if value and not key[0].endswith(("_bucket", "_count"))
    }


def acted(result: str, reason: str = "") -> Series:
    return series("paramedic_acts_total", result=result, reason=reason)


@pytest.mark.rule("MHC A.1/metric/mapi_machinehealthcheck_remediation_success_total")
@pytest.mark.parametrize(
    ("action", "result", "expected"),
    [
        pytest.param(Action.DELETE, ISSUED, {acted("Done"): 1, DELETED: 1}, id="deleted"),
        pytest.param(Action.DELETE, UNDER_WAY, {acted("Done"): 1}, id="deleted-by-somebody-else"),
        pytest.param(Action.DELETE, HELD, {acted("Held", "NoController"): 1}, id="not-deleted"),
        pytest.param(Action.MARK, ISSUED, {acted("Done"): 1}, id="marked"),
    ],
)
async def test_deletions_that_were_asked_for_are_counted_by_their_check(
    action: Action, result: ActResult, expected: dict[Series, float]
) -> None:
    assert await counted(ACT.name, order(action), result) == expected


@pytest.mark.parametrize(
    ("contract", "label"),
    [
        pytest.param(ANNOTATE, "annotate", id="annotate"),
        pytest.param(RENEW, "renew", id="renew"),
        pytest.param(CLEAN_UP, "clean_up", id="clean-up"),
    ],
)
async def test_each_failure_of_a_task_is_counted(contract: Contract, label: str) -> None:
    refused = TaskFailure(what="", why="", is_refused=True)
    result = RenewResult(failures=(TaskFailure(what="", why=""), refused, refused))
    assert await counted(contract.name, None, result) == {
        series("paramedic_maintenance_failures_total", task=label, reason="Failed"): 1,
        series("paramedic_maintenance_failures_total", task=label, reason="Refused"): 2,
    }


@pytest.mark.parametrize(
    ("result", "minutes"),
    [
        pytest.param(ISSUED, {"wait": 5, "hold": 2, "act": 3}, id="first-step"),
        pytest.param(UNDER_WAY, {}, id="taken-by-an-earlier-act"),
        pytest.param(HELD, {}, id="held"),
    ],
)
async def test_time_to_a_first_step_is_counted_by_its_parts(
    result: ActResult, minutes: dict[str, int]
) -> None:
    found = await counted(ACT.name, delayed(order(Action.MARK)), result)
    assert {key: value for key, value in found.items() if "delay" in key[0]} == {
        series(DELAY, check_kind="MachineHealthCheck", part=part, trigger="automated"): 60 * value
        for part, value in minutes.items()
    }


@pytest.mark.parametrize("action", [Action.DELETE, Action.MARK])
async def test_deletion_or_mark_creates_the_series_of_its_recovery(action: Action) -> None:
    registry = CollectorRegistry()
    await run(registry, ACT.name, order(action), ISSUED)
    labels = {"check": "MachineHealthCheck/machines/workers", "step": "delete"}
    assert {
        series("paramedic_step_to_recovery_seconds_count", trigger=trigger, **labels)
        for trigger in ("automated", "manual")
    } <= scrape(registry).keys()


@pytest.mark.parametrize("error", [KeyError("spec"), RuntimeError("of ours")])
async def test_failed_act_is_counted_in_the_series_that_begins_at_zero(error: Exception) -> None:
    registry = CollectorRegistry()
    with pytest.raises(type(error)):
        await answer(registry, ACT.name, order(Action.MARK), Failing(error))
    of_acts = {key: value for key, value in scrape(registry).items() if key[0] == "paramedic_acts_total"}
    assert {key for key, value in of_acts.items() if value} == {acted("Failed")}


def test_deletions_of_a_check_are_zero_before_the_first() -> None:
    registry = CollectorRegistry()
    WorkerMetrics(registry).incident_began(order(Action.DELETE).incident.check)
    assert scrape(registry)[DELETED] == 0


async def test_activity_of_another_workflow_is_counted_as_nothing() -> None:
    assert await counted("pause", None, "paused") == {}
