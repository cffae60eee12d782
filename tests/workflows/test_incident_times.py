"""The times that a worker counts at the end of an incident."""

from datetime import UTC, datetime, timedelta

import pytest
from prometheus_client import CollectorRegistry

from health.model.incident_result import IncidentResult, RequestRecord
from health.model.moves import Outcome
from health.model.references import CheckReference
from tests.support.values.metric_samples import Series, named, scrape, series
from tests.support.values.remediation_orders import ORDER
from worker.worker_metrics import MOST_NAMES, IncidentTimes

FAILED = datetime(2026, 1, 1, tzinfo=UTC)
WHOLE, OF_STEP = "paramedic_failure_to_recovery_seconds", "paramedic_step_to_recovery_seconds"


def minutes(number: float) -> datetime:
    return FAILED + timedelta(minutes=number)


def result(outcome: Outcome = Outcome.REMEDIATED, **values: object) -> IncidentResult:
    """An incident that recovered 30 minutes after its failure."""
    times = {"failed": FAILED, "recovered": minutes(30), "started": FAILED, "ended": minutes(31)}
    return IncidentResult.model_validate({"outcome": outcome, "reason": "", **times, **values})


def record(template: str, started: float) -> RequestRecord:
    request = f"Reboot/ns/{template}"
    return RequestRecord(request=request, uid=template, template=template, started=minutes(started))


def sums(*results: IncidentResult, check: str = "workers") -> dict[Series, float]:
    registry = CollectorRegistry()
    times = IncidentTimes(registry)
    for one in results:
        times.incident_ended(CheckReference(kind="NodeHealthCheck", name=check), one)
    found = scrape(registry)
    return named(found, f"{WHOLE}_sum") | named(found, f"{OF_STEP}_sum")


def whole(outcome: Outcome, number: float, trigger: str = "automated") -> dict[Series, float]:
    labels = {"check": "NodeHealthCheck/workers", "outcome": outcome, "trigger": trigger}
    return {series(f"{WHOLE}_sum", **labels): 60 * number}


def of_step(step: str, number: float, trigger: str = "automated") -> dict[Series, float]:
    labels = {"check": "NodeHealthCheck/workers", "step": step, "trigger": trigger}
    return {series(f"{OF_STEP}_sum", **labels): 60 * number}


def test_each_step_of_an_escalation_has_its_time_to_the_recovery() -> None:
    escalation = result(requests=(record("soft", 5), record("hard", 15)))
    expected = whole(Outcome.REMEDIATED, 30) | of_step("Reboot/soft", 25) | of_step("Reboot/hard", 15)
    assert sums(escalation) == expected


def test_deleted_machine_is_a_step() -> None:
    assert sums(result(deleted=minutes(10))) == whole(Outcome.REMEDIATED, 30) | of_step("delete", 20)


def test_recovery_by_itself_is_apart() -> None:
    assert sums(result(Outcome.RECOVERED)) == whole(Outcome.RECOVERED, 30)


@pytest.mark.parametrize("missing", ["failed", "recovered"])
def test_end_without_a_recovery_or_a_failure_counts_nothing(missing: str) -> None:
    assert sums(result().model_copy(update={missing: None})) == {}


def test_names_that_others_choose_are_bounded() -> None:
    found = sums(*(result(requests=(record(f"t{number}", 5),)) for number in range(2 * MOST_NAMES)))
    other = series(f"{OF_STEP}_sum", check="Other", step="Other", trigger="automated")
    assert len(found) == MOST_NAMES + 1
    assert found[other] == 60 * 25 * (MOST_NAMES + 1)


def test_remediation_that_a_person_ordered_is_apart_from_those_of_failures() -> None:
    ordered = sums(result(ordered=ORDER, requests=(record("soft", 5),)))
    expected = whole(Outcome.REMEDIATED, 30, "manual") | of_step("Reboot/soft", 25, "manual")
    assert ordered == expected


def test_order_that_ends_without_a_remediation_is_no_recovery() -> None:
    assert sums(result(Outcome.RECOVERED, ordered=ORDER)) == {}
