"""The gauges of a MachineHealthCheck show the current numbers, or those from before its pause (MHC A.1)."""

from dataclasses import replace

import pytest
from prometheus_client import CollectorRegistry

from detector.openshift.kind import COVERED, SHORT_CIRCUIT, MachineCheckMetrics
from detector.state.check_state import CheckRecord
from health.kinds.machines.conditions import REMEDIATION_ALLOWED
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from health.kinds.registry import CHECK_KINDS
from tests.support.state.small_machines import CHECK, SmallMachines
from tests.support.values.openshift import PAUSED, check_object

PUBLISHED = {
    "expectedMachines": 1,
    "conditions": [{"type": REMEDIATION_ALLOWED, "status": "False"}],
}


def gauges(cluster: SmallMachines) -> tuple[float | None, float | None]:
    registry = CollectorRegistry()
    registry.register(MachineCheckMetrics(cluster.cluster_state, lambda: True))
    labels = {"name": CHECK.name, "namespace": CHECK.namespace}
    return registry.get_sample_value(COVERED, labels), registry.get_sample_value(SHORT_CIRCUIT, labels)


@pytest.fixture
def cluster() -> SmallMachines:
    made = SmallMachines()
    for name in ("machine-1", "machine-2"):
        made.machine(name, phase="Failed")
    return made


@pytest.mark.rule(
    "MHC A.1/metric/mapi_machinehealthcheck_nodes_covered",
    "MHC A.1/metric/mapi_machinehealthcheck_short_circuit",
)
def test_gauges_are_what_is_so_now_and_end_with_the_check(cluster: SmallMachines) -> None:
    cluster.check(maxUnhealthy=1)
    assert gauges(cluster) == (2, 1)
    cluster.delete_check()
    assert gauges(cluster) == (None, None)
    cluster.check(maxUnhealthy=2)
    assert gauges(cluster) == (2, 0)


def test_checks_of_that_name_of_another_group_have_no_such_gauges(
    cluster: SmallMachines, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = replace(MACHINE_HEALTH_CHECK, group="example.com")
    monkeypatch.setitem(CHECK_KINDS, other.group_kind, other)
    reference = CHECK.model_copy(update={"group": other.group})
    cluster.cluster_state.check_changed(other, reference, CheckRecord.model_validate(check_object()))
    assert cluster.cluster_state.allowance(reference) is not None
    assert gauges(cluster) == (None, None)


@pytest.mark.rule("MHC A.1/annotation/paused")
def test_gauges_of_a_paused_check_stay_as_they_were_published(cluster: SmallMachines) -> None:
    cluster.check(annotations=PAUSED, maxUnhealthy=2)
    assert gauges(cluster) == (None, None)
    cluster.delete_check()
    cluster.check(annotations=PAUSED, status=PUBLISHED, maxUnhealthy=2)
    assert gauges(cluster) == (1, 1)
