"""The metrics of the cluster state at a scrape are complete and have no stale series."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from math import inf

import pytest
from prometheus_client import CollectorRegistry
from temporalio.service import RPCError, RPCStatusCode

from detector.metrics.live_metrics import FailingWorkflows, LiveMetrics
from detector.nodehealthcheck.kind import OngoingRemediations
from detector.openshift.kind import COVERED, SHORT_CIRCUIT, MachineCheckMetrics
from detector.state.check_state import CheckRecord
from health.cluster.cluster_context import ClusterContext
from health.kinds.machines.conditions import REMEDIATION_ALLOWED
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from health.kinds.registry import CHECK_KINDS
from health.model.approval import Progress
from health.model.observation import Hold, HoldReason, Observation, TargetState
from health.policy.policy import Policy
from health.policy.policy_in_force import PolicyInForce
from tests.support.api.eventually import eventually
from tests.support.state.small_cluster import SmallCluster, incident_of
from tests.support.state.small_machines import CHECK, SmallMachines
from tests.support.values.builders import ESCALATION, NOW, seen, with_steps_tried
from tests.support.values.metric_samples import Series, named, scrape, series
from tests.support.values.openshift import PAUSED, check_object
from tests.support.values.remediation_orders import ordered
from workflows.messages import WORKFLOW
from workflows.upgrade_contracts import UPGRADE_PAUSE

ONGOING = "nodehealthcheck_ongoing_remediation"
EXPIRED = Observation(state=TargetState.EXPIRED, reason="Ready is Unknown")
HELD = EXPIRED.model_copy(update={"hold": Hold(reason=HoldReason.THRESHOLD, message="too many")})
NODE_CHECK = "NodeHealthCheck/workers"


def ongoing(name: str) -> Series:
    return series(ONGOING, name=name, namespace="remediators", remediation="Reboot")


def incidents(phase: str) -> Series:
    return series("paramedic_open_incidents", check=NODE_CHECK, phase=phase)


class Detector:
    def __init__(self) -> None:
        self.cluster = SmallCluster()
        self.ages: dict[str, timedelta | None] = {"nodes": timedelta(seconds=2.5)}
        self.is_leader = True
        self._registry = CollectorRegistry()
        self._registry.register(OngoingRemediations(self.cluster.cluster_state, lambda: self.is_leader))
        self._registry.register(
            LiveMetrics(
                self.cluster.cluster_state,
                lambda: self.ages,
                self.cluster.open.all,
                lambda: self.is_leader,
                lambda: NOW,
            )
        )

    def scrape(self) -> dict[Series, float]:
        return scrape(self._registry)


@pytest.fixture
def detector() -> Detector:
    return Detector()


@pytest.mark.rule("NHC 1.6/nodehealthcheck_ongoing_remediation")
def test_remediation_is_ongoing_while_its_request_exists(detector: Detector) -> None:
    detector.cluster.check()
    detector.cluster.node("node-1", ready="Unknown")
    assert named(detector.scrape(), ONGOING) == {}

    detector.cluster.request("node-1")
    assert named(detector.scrape(), ONGOING) == {ongoing("node-1"): 1}

    detector.cluster.delete_request("node-1")
    assert named(detector.scrape(), ONGOING) == {}


def test_two_requests_of_one_kind_for_one_node_are_one_series(detector: Detector) -> None:
    detector.cluster.request("node-1", uid="a")
    detector.cluster.request("node-1", uid="b")
    detector.cluster.request("node-2")
    assert named(detector.scrape(), ONGOING) == {ongoing("node-1"): 1, ongoing("node-2"): 1}


def test_request_of_another_client_is_no_remediation_of_a_check(detector: Detector) -> None:
    detector.cluster.request("node-1", owner="SomethingElse")
    assert named(detector.scrape(), ONGOING) == {}


def test_incidents_are_counted_by_check_and_phase(detector: Detector) -> None:
    detector.cluster.check()
    detector.cluster.answered("node-1", EXPIRED)
    detector.cluster.answered("node-2", HELD)
    detector.cluster.answered("node-3", HELD)
    detector.cluster.answered("node-4", Observation(state=TargetState.HEALTHY, reason="it recovered"))
    detector.cluster.answered("node-5", seen(*with_steps_tried(*ESCALATION)))
    detector.cluster.answered("node-6", EXPIRED.model_copy(update={"under_way": "it is being deleted"}))
    assert named(detector.scrape(), "paramedic_open_incidents") == {
        incidents("Waiting"): 0,
        incidents("Held"): 2,
        incidents("Admitted"): 1,
        incidents("Requested"): 0,
        incidents("UnderWay"): 1,
        incidents("Exhausted"): 1,
        incidents("CleaningUp"): 0,
        incidents("Unknown"): 0,
    }


@pytest.mark.rule("rule 64")
def test_incident_whose_steps_were_all_tried_before_a_relapse_is_exhausted(detector: Detector) -> None:
    detector.cluster.check()
    detector.cluster.unhealthy("node-1")
    tried = Progress(spent=tuple(step.template for step in ESCALATION))
    detector.cluster.cluster_state.reported(incident_of("node-1"), tried)
    detector.cluster.answered("node-1", seen(hold=HELD.hold))
    assert detector.scrape()[incidents("Exhausted")] == 1
    assert named(detector.scrape(), "paramedic_holds") == {}


def test_holds_are_counted_by_reason_and_by_what_began_the_remediation(detector: Detector) -> None:
    detector.cluster.answered("node-1", HELD)
    detector.cluster.answered("node-2", HELD)
    detector.cluster.answered("node-3", EXPIRED)
    detector.cluster.answered("node-4", ordered(hold=HELD.hold))
    assert named(detector.scrape(), "paramedic_holds") == {
        series("paramedic_holds", check=NODE_CHECK, reason="Threshold", trigger="automated"): 2,
        series("paramedic_holds", check=NODE_CHECK, reason="Threshold", trigger="manual"): 1,
    }


@pytest.mark.rule("rule 16")
def test_series_of_a_check_end_with_it(detector: Detector) -> None:
    detector.cluster.check()
    assert incidents("Waiting") in detector.scrape()

    detector.cluster.delete_check()
    shown = detector.scrape()
    assert named(shown, "paramedic_open_incidents") == {}
    assert named(shown, "paramedic_checks") == {}


def test_checks_are_counted_by_the_phase_that_their_status_tells(detector: Detector) -> None:
    detector.cluster.check(status={"phase": "Remediating"})
    checks = named(detector.scrape(), "paramedic_checks")
    assert checks == {series("paramedic_checks", kind="NodeHealthCheck", phase="Remediating"): 1}


def test_sight_has_an_age_by_source_and_none_that_was_never_read_is_young(detector: Detector) -> None:
    detector.ages["leases"] = None
    assert named(detector.scrape(), "paramedic_cache_age_seconds") == {
        series("paramedic_cache_age_seconds", source="nodes"): 2.5,
        series("paramedic_cache_age_seconds", source="leases"): inf,
    }


def test_standby_tells_of_itself_alone(detector: Detector) -> None:
    detector.cluster.check()
    detector.cluster.request("node-1")
    detector.cluster.answered("node-1", EXPIRED)
    detector.is_leader = False
    assert detector.scrape() == {
        series("paramedic_leader"): 0,
        series("paramedic_cache_age_seconds", source="nodes"): 2.5,
    }
    detector.is_leader = True
    assert detector.scrape()[series("paramedic_leader")] == 1


def test_checks_in_shadow_and_a_policy_that_is_refused_are_counted(detector: Detector) -> None:
    def scraped() -> tuple[object, object]:
        found = detector.scrape()
        shadow = series("paramedic_checks_in_shadow", kind="NodeHealthCheck")
        return found[shadow], found[series("paramedic_policy_invalid")]

    detector.cluster.check()
    assert scraped() == (0, 0)
    refused = PolicyInForce(policy=Policy(shadow=True)).refused("it is not valid YAML")
    detector.cluster.cluster_state.take_context(ClusterContext(policy=refused))
    assert scraped() == (1, 1)


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


INCIDENTS, PAUSES = series("paramedic_failing_incidents"), series("paramedic_failing_upgrade_pauses")
Answer = Mapping[str, int] | RPCError
AWAY = RPCError("connection refused", RPCStatusCode.UNAVAILABLE, b"")


async def test_leader_exports_how_many_fail_and_nothing_while_temporal_does_not_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("COUNT_EVERY_SECONDS", "AGAIN_SECONDS"):
        monkeypatch.setattr(f"detector.metrics.live_metrics.{name}", 0.01)
    temporal: list[Answer] = [{}]

    async def counts() -> Mapping[str, int]:
        (answer,) = temporal
        if isinstance(answer, RPCError):
            raise answer
        return answer

    failing, registry = FailingWorkflows(counts), CollectorRegistry()
    registry.register(failing)

    def shows(expected: Mapping[Series, float]) -> Callable[[], bool]:
        return lambda: scrape(registry) == expected

    leading = asyncio.create_task(failing.lead())
    told: tuple[tuple[Answer, Mapping[Series, float]], ...] = (
        ({WORKFLOW: 2, UPGRADE_PAUSE: 0}, {INCIDENTS: 2, PAUSES: 0}),
        (AWAY, {}),
        ({WORKFLOW: 0, UPGRADE_PAUSE: 1}, {INCIDENTS: 0, PAUSES: 1}),
        ({}, {}),
        ({WORKFLOW: 3, UPGRADE_PAUSE: 0}, {INCIDENTS: 3, PAUSES: 0}),
    )
    for answer, expected in told:
        temporal[0] = answer
        await eventually(shows(expected))
    leading.cancel()
    await asyncio.wait([leading])
    assert scrape(registry) == {}, "a standby exports nothing"
