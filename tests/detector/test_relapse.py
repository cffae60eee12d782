"""The relapse of a check in the observations of its incidents."""

from datetime import timedelta

import pytest

from detector.reporting.snapshot_builder import SnapshotBuilder
from detector.state.check_state import CheckRecord
from health.gate.back_off import NO_BACK_OFF
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.model.approval import Progress
from objects.timestamps import stamp
from tests.support.state.small_cluster import CHECK, SmallCluster, incident_of
from tests.support.values.builders import NOW, check, check_object, escalation

pytestmark = pytest.mark.rule("rule 64")


@pytest.mark.parametrize(("annotations", "seconds"), [({}, 0), ({"paramedic.dev/relapse": "30m"}, 1800)])
def test_incident_of_an_unhealthy_target_learns_the_relapse_of_its_check(
    annotations: dict[str, str], seconds: float
) -> None:
    one = SmallCluster()
    body = check_object(minHealthy=0) | {"status": {}}
    body["metadata"]["annotations"] = annotations
    one.cluster_state.check_changed(NODE_HEALTH_CHECK, CHECK, CheckRecord.model_validate(body))
    one.unhealthy("node-1")
    assert one.observe("node-1").relapse_seconds == seconds


@pytest.mark.parametrize(
    ("relapse", "age", "is_new"),
    [(None, 60, True), (None, 61, False), ("30m", 60, True), ("2h", 61, True), ("2h", 121, False)],
)
def test_failure_of_a_node_that_was_created_lately_may_be_a_relapse_of_an_earlier_one(
    relapse: str | None, age: int, *, is_new: bool
) -> None:
    one = SmallCluster()
    body = check_object(minHealthy=0) | {"status": {}}
    body["metadata"]["annotations"] = {"paramedic.dev/relapse": relapse} if relapse else {}
    one.cluster_state.check_changed(NODE_HEALTH_CHECK, CHECK, CheckRecord.model_validate(body))
    created = NOW - timedelta(minutes=age)
    one.node("node-1", ready="Unknown", since=NOW, creationTimestamp=stamp(created))
    assert one.observe("node-1").is_new is is_new


def test_check_reports_a_relapse_without_a_step_left_although_it_has_no_request() -> None:
    one = SmallCluster()
    escalating = [escalation(1), escalation(2, name="reset")]
    one.check(escalatingRemediations=escalating, remediationTemplate=None)
    one.unhealthy("node-1")
    templates = [
        step.template for step in check(escalatingRemediations=escalating, remediationTemplate=None).steps
    ]
    exhausted = []
    for number in range(3):
        one.cluster_state.reported(incident_of("node-1"), Progress(spent=tuple(templates[:number])))
        snapshot = SnapshotBuilder(one.cluster_state, lambda *_: NO_BACK_OFF).of(CHECK, None, NOW)
        assert snapshot is not None
        exhausted.append(snapshot.targets["node-1"].is_exhausted)
    assert exhausted == [False, False, True]
