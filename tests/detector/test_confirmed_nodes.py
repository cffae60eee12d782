"""Healthy nodes that a user confirmed: where confirmations apply, the incident removes the annotation."""

import pytest

from health.cluster.cluster_context import ClusterContext
from health.model.node import CONFIRMED_HEALTHY
from health.policy.policy import Policy
from health.policy.policy_in_force import PolicyInForce
from tests.support.state.small_cluster import CHECK, SmallCluster

CONFIRMED = {CONFIRMED_HEALTHY: ""}
SHADOW = ClusterContext(policy=PolicyInForce(policy=Policy(shadow=True)))


def with_confirmed_node(*, removes_confirmations: bool = True) -> SmallCluster:
    cluster = SmallCluster(removes_confirmations=removes_confirmations)
    cluster.check()
    cluster.node("node-1", annotations=CONFIRMED)
    return cluster


def wanted(cluster: SmallCluster) -> list[str]:
    return [incident.target.name for incident in cluster.cluster_state.all_wanted()]


@pytest.mark.rule("NHC 2.1/13")
def test_confirmed_node_has_an_incident_that_takes_the_mark_off() -> None:
    assert wanted(with_confirmed_node()) == ["node-1"]


@pytest.mark.rule("NHC 2.1/13")
def test_confirmed_node_has_none_where_marks_are_kept() -> None:
    cluster = with_confirmed_node(removes_confirmations=False)
    assert wanted(cluster) == []

    cluster.node("node-1", ready="Unknown", annotations=CONFIRMED)
    assert wanted(cluster) == ["node-1"]


@pytest.mark.rule("NHC 2.1/13")
def test_shadow_of_the_policy_counts_from_the_moment_that_it_is_seen() -> None:
    cluster = with_confirmed_node()
    told: list[tuple[object, str | None]] = []
    cluster.cluster_state.event_handlers.add_change_handler(lambda *one: told.append(one))

    cluster.cluster_state.take_context(SHADOW)
    assert wanted(cluster) == []
    assert (CHECK, "node-1") in told

    told.clear()
    cluster.cluster_state.take_context(ClusterContext())
    assert wanted(cluster) == ["node-1"]
    assert (CHECK, "node-1") in told
