"""Observations of an incident of Cluster API: paused, without its Cluster, and after both."""

import pytest

from detector.context.sources_of_checks import CheckFreshness
from health.check.annotated_hold import PAUSED
from health.kinds.clusterapi.group import GROUP
from health.model.observation import HoldReason, Observation, TargetState
from health.model.references import TargetReference
from tests.support.state.small_cluster_api import SmallClusterApi, machine_object
from tests.support.values.builders import condition
from tests.support.values.cluster_api import NAMESPACE, cluster

FRESH = CheckFreshness()
TARGET = TargetReference(kind="Machine", group=GROUP, namespace=NAMESPACE, name="a", uid="uid-a")


@pytest.fixture
def small() -> SmallClusterApi:
    """A check, and a Machine whose Node has failed."""
    made = SmallClusterApi()
    made.check()
    made.machine(machine_object("a"))
    made.node("a", "False")
    return made


def observe(small: SmallClusterApi, machine: str = "a") -> Observation:
    return small.observe(machine)


def reason(observation: Observation) -> HoldReason | str | None:
    return None if observation.hold is None else observation.hold.reason


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
    assert observe(small).state is TargetState.HEALTHY  # after that the incident deletes its requests
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


@pytest.mark.rule(
    "CAPI B.2.1/Machine",
    "CAPI B.2.2/excluded",
    "CAPI B.1/annotation/paused",
    "CAPI B.1/annotation/skip-remediation",
)
@pytest.mark.parametrize("annotation", ["paused", "skip-remediation"])
def test_machine_that_is_left_alone_or_goes_counts_no_more_and_ends_its_incident(
    small: SmallClusterApi, annotation: str
) -> None:
    assert small.numbers() == (0, 1)
    small.machine(machine_object("a", annotations={f"cluster.x-k8s.io/{annotation}": "false"}))
    assert observe(small).state is TargetState.RELEASED
    assert small.numbers() == (0, 0)
    small.delete_machine("a")
    assert observe(small).state is TargetState.GONE


@pytest.mark.rule("CAPI B.2.5/each", "rule 29")
def test_each_machine_that_failed_is_admitted_however_many_are_marked_already(small: SmallClusterApi) -> None:
    marked = {"conditions": [condition("OwnerRemediated", "False") | {"reason": "WaitingForRemediation"}]}
    for name in ("b", "c", "d"):
        small.node(name, "False")
        small.machine(machine_object(name, status=marked))
    assert observe(small).may_be_admitted
    assert observe(small, "b").under_way == "b is marked for its owner: WaitingForRemediation"
    assert small.numbers() == (0, 4)
