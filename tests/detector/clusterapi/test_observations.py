"""What an incident of Cluster API is told: paused, without its Cluster, and after either."""

from datetime import timedelta

import pytest

from detector.answers.observation_builder import CheckFreshness, ObservationBuilder
from health.gate.pause import PAUSED
from health.kinds.clusterapi.group import GROUP
from health.model.observation import HoldReason, Observation, TargetState
from health.model.references import IncidentReference, TargetReference
from tests.detector.clusterapi.small_cluster_api import SmallClusterApi, machine_object, named
from tests.health.clusterapi.samples import NAMESPACE, cluster

FRESH = CheckFreshness(timedelta(), timedelta(minutes=1))
TARGET = TargetReference(kind="Machine", group=GROUP, namespace=NAMESPACE, name="a", uid="uid-a")


@pytest.fixture
def small() -> SmallClusterApi:
    """With a check, and a Machine whose Node has failed."""
    made = SmallClusterApi()
    made.check()
    made.machine(machine_object("a"))
    made.node("a", "False")
    return made


def observe(small: SmallClusterApi) -> Observation:
    incident = IncidentReference(cluster="main-0a1b", check=named(), target=TARGET)
    return ObservationBuilder(small.cluster_state, incident, FRESH, small.now).observation()


def reason(seen: Observation) -> HoldReason | str | None:
    return None if seen.hold is None else seen.hold.reason


@pytest.mark.rule("CAPI B.2.7/clean-up", "CAPI B.2.7/clock", "CAPI B.2.1/check")
def test_incident_of_a_paused_check_knows_nothing_and_sees_a_recovery_when_the_pause_ends(
    small: SmallClusterApi,
) -> None:
    assert observe(small).state is TargetState.EXPIRED
    small.check(annotations={PAUSED: ""})
    small.node("a")
    paused = observe(small)
    assert (paused.state, reason(paused)) == (TargetState.UNKNOWN, HoldReason.PAUSED)

    small.check()
    assert observe(small).state is TargetState.HEALTHY  # by which its requests are deleted
    small.node("a", "False")
    assert observe(small).state is TargetState.EXPIRED


@pytest.mark.rule("CAPI B.2.2/no Cluster")
def test_machine_whose_cluster_is_gone_has_not_recovered_by_that(small: SmallClusterApi) -> None:
    small.cluster(None)
    seen = observe(small)
    assert (seen.state, reason(seen)) == (TargetState.UNKNOWN, HoldReason.DISABLED)
    assert "edge not found" in str(seen.hold)

    small.cluster(cluster())
    assert observe(small).state is TargetState.EXPIRED


@pytest.mark.rule("CAPI B.2.1/Machine")
def test_machine_that_goes_or_is_left_alone_ends_its_incident(small: SmallClusterApi) -> None:
    small.machine(machine_object("a", annotations={"cluster.x-k8s.io/skip-remediation": "false"}))
    assert observe(small).state is TargetState.RELEASED
    small.delete_machine("a")
    assert observe(small).state is TargetState.GONE
