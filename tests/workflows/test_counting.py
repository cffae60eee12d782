"""The worker's counters of incidents and acts, on a real Temporal server."""

import re
from collections.abc import Iterable
from datetime import timedelta

import pytest
from prometheus_client import CollectorRegistry
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Replayer, UnsandboxedWorkflowRunner

from activities.notifications import DeliveryProblem
from health.kinds.registry import CHECK_KINDS
from health.model.moves import Outcome, Phase
from health.model.observation import HoldReason
from health.model.references import kind_name
from tests.support.api.eventually import eventually
from tests.support.story.incident import IncidentDriver
from tests.support.story.settling import rests
from tests.support.story.upgrading import Upgrading
from tests.support.values.metric_samples import Series, scrape, series
from tests.support.values.observations import expired, healthy, hold, waiting
from worker.metrics_interceptor import MetricsInterceptor
from worker.worker_metrics import GIVEN_UP, WorkerMetrics
from workflows.notification import Delivery
from workflows.remediation import Remediation

CHORES = ("annotate", "renew", "clean_up")
"""The names in docs/metrics.md."""

EVIDENCE = {result: series("paramedic_evidence_total", result=result) for result in ("Saved", "NotSaved")}
NOTIFICATIONS = {
    *(series("paramedic_notifications_total", result=result) for result in (*Delivery, GIVEN_UP)),
    *(series("paramedic_notification_failures_total", problem=problem) for problem in DeliveryProblem),
}
STEP = "Reboot/t"
LONG_UPGRADES = series("paramedic_long_upgrades_total")


class Counted:
    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.interceptor = MetricsInterceptor(WorkerMetrics(self._registry))

    def all(self) -> dict[Series, float]:
        return {key: value for key, value in self.shown().items() if value}

    def shown(self) -> dict[Series, float]:
        """The counters; the histograms are in `times`."""
        is_of_time = re.compile(r"_seconds_(bucket|sum|count)$")
        return {key: value for key, value in scrape(self._registry).items() if not is_of_time.search(key[0])}

    def are_zero(self, expected: Iterable[Series]) -> bool:
        found = scrape(self._registry)
        return all(found.get(one) == 0 for one in expected)

    def times(self) -> dict[Series, float]:
        """The number of observations of each histogram that has any."""
        found = scrape(self._registry).items()
        return {key: value for key, value in found if value and key[0].endswith("_seconds_count")}


def ended(outcome: Outcome, kind: str = "NodeHealthCheck", trigger: str = "automated") -> Series:
    return series("paramedic_incidents_total", check_kind=kind, outcome=outcome.value, trigger=trigger)


def requested(kind: str = "NodeHealthCheck") -> dict[Series, float]:
    """One remediation in the histogram of delays."""
    parts = ("wait", "hold", "queue", "act")
    name = "paramedic_request_delay_seconds_count"
    return {series(name, check_kind=kind, part=part, trigger="automated"): 1 for part in parts}


def recovered(outcome: Outcome, *steps: str, check: str = "NodeHealthCheck/workers") -> dict[Series, float]:
    """One recovery in the histograms of recoveries."""
    labels = {"check": check, "trigger": "automated"}
    whole = series("paramedic_failure_to_recovery_seconds_count", outcome=outcome, **labels)
    of_steps = (series("paramedic_step_to_recovery_seconds_count", step=step, **labels) for step in steps)
    return dict.fromkeys([whole, *of_steps], 1)


def acted(result: str, reason: str = "") -> Series:
    return series("paramedic_acts_total", result=result, reason=reason)


def left(task: str, reason: str) -> Series:
    return series("paramedic_maintenance_failures_total", task=task, reason=reason)


def test_all_counters_exist_from_the_start() -> None:
    ends = {
        ended(outcome, kind, trigger)
        for outcome in Outcome
        for kind in map(kind_name, CHECK_KINDS)
        for trigger in ("automated", "manual")
    }
    acts = {
        *map(acted, ("Requested", "Done", "Lost", "Failed")),
        *(acted("Held", reason) for reason in HoldReason),
    }
    tasks = {left(task, reason) for task in CHORES for reason in ("Failed", "Refused")}
    assert Counted().shown() == dict.fromkeys(
        {LONG_UPGRADES, *EVIDENCE.values(), *ends, *acts, *tasks, *NOTIFICATIONS}, 0
    )


@pytest.mark.rule("MHC C.2/stuck")
async def test_upgrade_that_takes_long_is_counted_once(time_skipping: WorkflowEnvironment) -> None:
    counted, upgrading = Counted(), Upgrading(time_skipping)
    upgrading.long_upgrade = timedelta(milliseconds=1)
    async with upgrading.detector(), upgrading.worker(counted.interceptor):
        await upgrading.start()
        await eventually(lambda: upgrading.warnings)
        await upgrading.rests()
        await upgrading.wake()
        await upgrading.rests()

    assert counted.all() == {LONG_UPGRADES: 1}


async def test_incident_is_counted_by_its_outcome_when_it_ends_and_each_act_with_its_result(
    bare_incident: IncidentDriver,
) -> None:
    counted = Counted()
    bare_incident.cluster.refusals.append(hold(HoldReason.TEMPLATE, timedelta(seconds=1)))
    async with bare_incident.detector(), bare_incident.worker(interceptors=[counted.interceptor]):
        await bare_incident.start(expired())
        await bare_incident.reaches(Phase.HELD)
        assert counted.all() == {acted("Held", "Template"): 1}
        await bare_incident.pass_time(timedelta(seconds=2))
        await bare_incident.reaches(Phase.REMEDIATING)
        await bare_incident.sees(healthy())
        assert await bare_incident.outcome() is Outcome.REMEDIATED
        acted_and_ended = {
            acted("Held", "Template"): 1,
            acted("Requested"): 1,
            ended(Outcome.REMEDIATED): 1,
        }
        assert counted.all() == acted_and_ended
        times = requested() | recovered(Outcome.REMEDIATED, STEP)
        assert counted.times() == times

        await bare_incident.start(waiting())
        await rests(bare_incident, Phase.WAITING)  # it has seen the failure
        await bare_incident.sees(healthy())
        assert await bare_incident.outcome() is Outcome.RECOVERED
    assert counted.all() == acted_and_ended | {ended(Outcome.RECOVERED): 1}
    assert counted.times() == times | recovered(Outcome.RECOVERED)


async def test_series_of_a_recovery_exist_before_it(bare_incident: IncidentDriver) -> None:
    counted, recovery = Counted(), recovered(Outcome.REMEDIATED)
    async with bare_incident.detector(), bare_incident.worker(interceptors=[counted.interceptor]):
        await bare_incident.start(waiting())
        await rests(bare_incident, Phase.WAITING)
        assert counted.are_zero(recovery | recovered(Outcome.RECOVERED))
        await bare_incident.sees(expired())
        await bare_incident.reaches(Phase.REMEDIATING)
        assert counted.are_zero(recovered(Outcome.REMEDIATED, STEP))


async def test_worker_that_takes_over_has_the_series_before_the_recovery(
    bare_incident: IncidentDriver,
) -> None:
    counted = Counted()
    async with bare_incident.detector():
        async with bare_incident.worker():
            await bare_incident.start(expired())
            await bare_incident.reaches(Phase.REMEDIATING)
        async with bare_incident.worker(interceptors=[counted.interceptor]):
            await bare_incident.state()  # from the history alone
            assert counted.are_zero(recovered(Outcome.REMEDIATED))


async def test_replay_of_an_end_counts_nothing(bare_incident: IncidentDriver) -> None:
    async with bare_incident.detector(), bare_incident.worker():
        await bare_incident.start(expired())
        await bare_incident.reaches(Phase.REMEDIATING)
        await bare_incident.sees(healthy())
        await bare_incident.outcome()

    counted = Counted()
    async with bare_incident.worker(interceptors=[counted.interceptor]):
        assert (await bare_incident.state()).outcome is Outcome.REMEDIATED  # from the history alone
    replayer = Replayer(
        workflows=[Remediation],
        interceptors=[counted.interceptor],
        workflow_runner=UnsandboxedWorkflowRunner(),
        data_converter=pydantic_data_converter,
    )
    for history in await bare_incident.histories():
        await replayer.replay_workflow(history)
    assert counted.all() == counted.times() == {}


async def test_worker_that_takes_over_counts_the_end_once(bare_incident: IncidentDriver) -> None:
    first, second = Counted(), Counted()
    async with bare_incident.detector():
        async with bare_incident.worker(interceptors=[first.interceptor]):
            await bare_incident.start(expired())
            await bare_incident.reaches(Phase.REMEDIATING)
        async with bare_incident.worker(interceptors=[second.interceptor]):
            await bare_incident.sees(healthy())
            await bare_incident.outcome()
    assert first.all() == {acted("Requested"): 1}
    assert second.all() == {ended(Outcome.REMEDIATED): 1}
    assert first.times() == requested()
    assert second.times() == recovered(Outcome.REMEDIATED, STEP)
