"""Which MachineHealthChecks disable NodeHealthChecks."""

from datetime import timedelta
from typing import Any

import pytest

from health.cluster.cluster_context import ClusterContext
from health.kinds.nodehealthcheck.disabled import (
    OtherChecks,
    OtherMachineHealthCheck,
    machine_health_checks,
)
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.model.verdict import Health
from objects.group_kind import GroupKind
from tests.support.values.builders import EMPTY_CONTEXT, NOW, check, condition, node

pytestmark = pytest.mark.rule("NHC 2.1/4")

NONE, OTHERS = OtherChecks.NONE, OtherChecks.OTHERS
TERMINATING_ONLY = OtherChecks.TERMINATING_ONLY
ELSEWHERE = ClusterContext(of_kinds={GroupKind("example.com", "NodeHealthCheck"): OTHERS})
"""What matters to another kind of that name."""


def context(found: OtherChecks) -> ClusterContext:
    return ClusterContext(of_kinds={NODE_HEALTH_CHECK.group_kind: found})


def other(*types: str, spec: dict[str, Any] | None = None) -> OtherMachineHealthCheck:
    metadata = {"name": "m", "namespace": "ns", "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"}
    conditions = [{"type": type_, "status": "True", "timeout": "0s"} for type_ in types]
    shown = {"unhealthyConditions": conditions} if spec is None else spec
    return OtherMachineHealthCheck.model_validate({"metadata": metadata, "spec": shown})


TERMINATING = other("Terminating")


@pytest.mark.parametrize(
    ("found", "unreadable", "expected"),
    [
        pytest.param([], 0, NONE, id="none"),
        pytest.param([TERMINATING], 0, TERMINATING_ONLY, id="the one that OpenShift installs"),
        pytest.param([TERMINATING, TERMINATING], 0, OTHERS, id="two of them"),
        pytest.param([TERMINATING, other("Ready")], 0, OTHERS, id="another one beside it"),
        pytest.param([other("Ready")], 0, OTHERS, id="for another condition"),
        pytest.param([other("Terminating", "Ready")], 0, OTHERS, id="for another condition as well"),
        pytest.param([other("Terminating", "Terminating")], 0, OTHERS, id="for two statuses of it"),
        pytest.param([other()], 0, OTHERS, id="for no condition"),
        pytest.param([other(spec={})], 0, OTHERS, id="without conditions"),
        pytest.param([], 1, OTHERS, id="one that cannot be read"),
        pytest.param([TERMINATING], 1, OTHERS, id="one that cannot be read beside it"),
    ],
)
def test_only_a_single_one_for_terminating_is_no_conflict(
    found: list[OtherMachineHealthCheck], unreadable: int, expected: OtherChecks
) -> None:
    assert machine_health_checks(found, unreadable=unreadable) is expected


@pytest.mark.rule("NHC 1.3/Disabled/ConflictingMachineHealthCheckDetected")
def test_conflict_disables_a_check_in_the_words_of_the_operator() -> None:
    found = check().problem(context(OTHERS), lambda *_: None)

    assert found is not None
    assert found.reason == "ConflictingMachineHealthCheckDetected"
    assert (
        found.message == "Custom MachineHealthCheck(s) detected, disabling NodeHealthCheck to avoid conflicts"
    )


@pytest.mark.parametrize("cluster_context", [EMPTY_CONTEXT, context(TERMINATING_ONLY), ELSEWHERE])
def test_no_conflict_disables_no_check(cluster_context: ClusterContext) -> None:
    assert check().problem(cluster_context, lambda *_: None) is None


@pytest.mark.parametrize("status", ["True", "False", "Unknown"])
def test_node_with_a_condition_terminating_is_left_to_the_single_check_for_it(status: str) -> None:
    failed = node(condition("Ready", "False"), condition("Terminating", status))
    later, judge = NOW + timedelta(hours=1), check()

    assert judge.verdict(failed, later, EMPTY_CONTEXT).health is Health.EXPIRED
    assert judge.is_unhealthy(failed, EMPTY_CONTEXT)
    left = context(TERMINATING_ONLY)
    assert judge.verdict(failed, later, left).health is Health.HEALTHY
    assert not judge.is_unhealthy(failed, left)


def test_other_nodes_are_not_left_to_it() -> None:
    failed = node(condition("Ready", "False"))

    assert check().is_unhealthy(failed, context(TERMINATING_ONLY))
