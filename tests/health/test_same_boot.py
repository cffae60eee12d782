"""Whom a check asks for a proof of recovery, and when a boot is a fact to act on."""

from typing import Any

import pytest

from health.check.health_check import HealthCheck
from health.check.same_boot import SAME_BOOT, proof_seconds, same_boot, still_states
from health.kinds.nodehealthcheck.check import NodeHealthCheck
from health.kinds.openshift.check import EXTERNAL_BAREMETAL, STRATEGY
from health.model.node import CONFIRMED_HEALTHY, Node
from health.model.target import Target, facts_of_node
from health.model.verdict import Fact
from tests.support.values import cluster_api as clusterapi
from tests.support.values import openshift
from tests.support.values.builders import (
    EMPTY_CONTEXT,
    MINUTE,
    NOW,
    check_object,
    condition,
    fact,
    node_object,
)

CHOICE = {"paramedic.dev/proven-recovery": "5m"}
READY = condition("Ready", "True")
SAME = fact(NOW, "boot-1", SAME_BOOT)


def node(boot_id: str = "boot-1", **metadata: Any) -> Node:
    body = node_object(READY, **metadata)
    body["status"]["nodeInfo"] = {"bootID": boot_id}
    return Node.model_validate(body)


def of_nodes(annotations: dict[str, str] = CHOICE) -> NodeHealthCheck:
    body = check_object()
    body["metadata"]["annotations"] = annotations
    return NodeHealthCheck.parse(body)


@pytest.mark.parametrize(
    ("check", "target", "seconds"),
    [
        pytest.param(of_nodes(), node(), 300, id="a request for a Node"),
        pytest.param(of_nodes({}), node(), 0, id="no choice"),
        pytest.param(
            openshift.check(CHOICE, remediationTemplate=openshift.TEMPLATE),
            openshift.target(READY),
            300,
            id="a request for a Machine of OpenShift",
        ),
        pytest.param(
            openshift.check(CHOICE | {STRATEGY: EXTERNAL_BAREMETAL}),
            openshift.target(READY),
            300,
            id="a mark, after which a bare-metal host is power-cycled",
        ),
        pytest.param(openshift.check(CHOICE), openshift.target(READY), 0, id="a deletion"),
        pytest.param(
            clusterapi.check(CHOICE, remediation={"templateRef": clusterapi.TEMPLATE}),
            clusterapi.target(READY),
            300,
            id="a request for a Machine of Cluster API",
        ),
        pytest.param(
            clusterapi.check(CHOICE), clusterapi.target(READY), 0, id="a mark, after which an owner deletes"
        ),
    ],
)
def test_proof_is_asked_of_what_comes_back_and_of_nothing_that_is_replaced(
    check: HealthCheck, target: Target, seconds: float
) -> None:
    assert proof_seconds(check, target) == seconds


def test_boot_of_a_machine_is_that_of_its_node() -> None:
    assert node().boot_id == "boot-1"
    assert facts_of_node(openshift.target(READY)).boot_id == ""
    assert facts_of_node(openshift.without_node()).boot_id == ""


def test_fact_is_as_old_as_the_latest_transition_of_what_the_check_judges_by() -> None:
    assert same_boot(of_nodes(), node()) == SAME
    assert same_boot(of_nodes(), node("")) is None


@pytest.mark.parametrize(
    ("check", "target", "stated", "is_true"),
    [
        (of_nodes(), node(), SAME, True),
        (of_nodes(), node("boot-2"), SAME, False),
        (of_nodes(), node(""), SAME, False),
        (of_nodes({}), node(), SAME, False),
        (of_nodes(), node(annotations={CONFIRMED_HEALTHY: ""}), SAME, False),
        (openshift.check(CHOICE), openshift.target(READY), SAME, False),
        (of_nodes(), node(), fact(NOW, "Unknown"), False),
        (of_nodes(), Node.model_validate(node_object(condition("Ready", "Unknown"))), fact(NOW), True),
    ],
)
def test_act_finds_out_whether_its_fact_is_still_true(
    check: HealthCheck, target: Target, stated: Fact, *, is_true: bool
) -> None:
    assert still_states(check, stated, target, EMPTY_CONTEXT) is is_true


def test_checks_of_machines_know_when_the_latest_of_their_conditions_changed() -> None:
    later = condition("Ready", "True", NOW + MINUTE)
    other = condition("Elsewhere", "True", NOW + 2 * MINUTE)
    for samples in (openshift, clusterapi):
        check, target = samples.check(), samples.target(later, other)
        assert check.last_transition(target) == NOW + MINUTE
        assert check.last_transition(samples.without_node()) is None
