"""A MachineHealthCheck's answers as a kind of check: targets, health, steps, holds (MHC A.1 to A.2.5)."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from health.check.annotated_hold import PausedInvalidCheckError
from health.check.health_check import Check
from health.check.template_validity import Place, Template, TemplateKind
from health.cluster.cluster_context import ClusterContext
from health.cluster.upgrade import Upgrade, UpgradePhase
from health.kinds.openshift.check import MachineHealthCheck
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from health.kinds.openshift.machine import MachineTarget
from health.model.invalid_check import InvalidCheckError
from health.model.observation import HoldReason
from health.model.references import CheckReference
from health.model.verdict import Health
from tests.support.values.builders import EMPTY_CONTEXT, NOW, condition
from tests.support.values.openshift import (
    CREATED,
    DELETE,
    HEALTHY_NODE,
    MARKED,
    NAMESPACE,
    NOT_READY,
    PAUSED,
    TEMPLATE,
    check,
    refusal,
    target,
    with_lost_node,
    without_node,
)


@pytest.mark.rule("MHC A.1/kind")
def test_fields_of_a_parsed_check() -> None:
    parsed: Check[MachineTarget] = check()

    assert parsed.reference == CheckReference(kind="MachineHealthCheck", namespace=NAMESPACE, name="workers")
    assert parsed.generation == 3
    assert parsed.hold_in(ClusterContext()) is None
    assert parsed.healthy_delay == timedelta()
    assert parsed.storm_cooldown is None
    assert (MACHINE_HEALTH_CHECK.api_version, MACHINE_HEALTH_CHECK.resource_name) == (
        "machine.openshift.io/v1beta1",
        "machinehealthchecks.machine.openshift.io",
    )


@pytest.mark.rule("MHC A.1/selector")
@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({}, id="no selector"),
        pytest.param({"selector": {}}, id="an empty one"),
        pytest.param({"selector": {"matchLabels": {}, "matchExpressions": []}}, id="one of empty parts"),
    ],
)
def test_check_without_a_selector_has_all_machines_as_targets(spec: dict[str, Any]) -> None:
    assert check(**spec).selects(target())
    assert check(**spec).selects(target(labels={"role": "worker"}))


@pytest.mark.rule("MHC A.1/selector", "MHC A.2.1/targets")
def test_targets_are_chosen_by_the_labels_of_the_machine_alone() -> None:
    parsed = check(selector={"matchLabels": {"role": "worker"}})

    for chosen in (
        target(labels={"role": "worker"}),
        target(labels={"role": "worker"}, is_going=True),
        without_node(labels={"role": "worker"}, owners=()),
    ):
        assert parsed.selects(chosen)
    assert not parsed.selects(target(labels={"role": "infra"}))


@pytest.mark.rule("MHC A.1/annotation/paused")
@pytest.mark.parametrize("value", ["", "true", "false"])
def test_pause_annotation_holds_whatever_its_value(value: str) -> None:
    hold = check({"cluster.x-k8s.io/paused": value}).hold_in(ClusterContext())

    assert hold is not None
    assert hold.reason is HoldReason.PAUSED
    assert hold.message == "paused by the annotation cluster.x-k8s.io/paused"


@pytest.mark.rule("MHC A.2.8/clock")
def test_clocks_of_a_paused_check_run_on() -> None:
    broken = target(condition("Ready", "False"))
    late = NOW + timedelta(hours=1)

    assert check(PAUSED).verdict(broken, late, EMPTY_CONTEXT) == check().verdict(broken, late, EMPTY_CONTEXT)
    assert check(PAUSED).verdict(broken, late, EMPTY_CONTEXT).health is Health.EXPIRED


@pytest.mark.rule("MHC A.1/annotation/paused", "MHC A.1/refused")
def test_check_that_is_paused_and_cannot_be_read_is_known_as_both() -> None:
    both, invalid = refusal(PAUSED, maxUnhealthy=-1), refusal(maxUnhealthy=-1)

    assert isinstance(both, PausedInvalidCheckError)
    assert not isinstance(invalid, PausedInvalidCheckError)
    assert str(both) == str(invalid)


@pytest.mark.rule("MHC A.1/refused")
def test_parsed_parts_are_taken_as_the_detector_hands_them_over() -> None:
    parsed = check(PAUSED)
    again = MachineHealthCheck.parse({"metadata": parsed.metadata, "spec": {}})

    assert again.metadata == parsed.metadata
    with pytest.raises(PausedInvalidCheckError):
        MachineHealthCheck.parse({"metadata": parsed.metadata, "spec": {"maxUnhealthy": -1}})
    with pytest.raises(InvalidCheckError, match=r"^spec\.maxUnhealthy: "):
        MachineHealthCheck.parse({"metadata": check().metadata, "spec": {"maxUnhealthy": -1}})


@pytest.mark.rule("MHC A.2.4/healthy", "MHC A.1/annotation/external-remediation")
@pytest.mark.parametrize(
    ("one", "counts_as_healthy", "is_unhealthy"),
    [
        pytest.param(target(HEALTHY_NODE), True, False, id="healthy"),
        pytest.param(target(), True, False, id="a Node without conditions"),
        pytest.param(target(HEALTHY_NODE, is_going=True), False, False, id="being deleted"),
        pytest.param(target(HEALTHY_NODE, annotations=MARKED), False, False, id="marked"),
        pytest.param(target(HEALTHY_NODE, phase="Failed"), False, True, id="failed"),
        pytest.param(target(condition("Ready", "False")), False, True, id="its timer runs, or ran out"),
        pytest.param(without_node(), False, True, id="without a Node"),
        pytest.param(with_lost_node(), False, True, id="its Node is gone"),
        pytest.param(with_lost_node(is_going=True), False, False, id="being deleted, its Node is gone"),
        pytest.param(without_node(is_going=True), False, False, id="being deleted, never had a Node"),
    ],
)
def test_machine_counts_as_healthy_only_if_nothing_is_wrong_or_done_to_it(
    one: MachineTarget,
    counts_as_healthy: bool,  # noqa: FBT001  a column of the table
    is_unhealthy: bool,  # noqa: FBT001
) -> None:
    parsed = check()

    assert (parsed.counts_as_healthy(one, EMPTY_CONTEXT), parsed.is_unhealthy(one, EMPTY_CONTEXT)) == (
        counts_as_healthy,
        is_unhealthy,
    )


@pytest.mark.rule("MHC A.2.3/2", "MHC A.2.4/healthy")
def test_machine_without_a_node_uses_the_budget_up_also_where_the_startup_timeout_is_off() -> None:
    parsed = check(nodeStartupTimeout="0")

    assert not parsed.counts_as_healthy(without_node(), EMPTY_CONTEXT)
    assert not parsed.is_unhealthy(without_node(), EMPTY_CONTEXT)
    assert parsed.verdict(without_node(), NOW, EMPTY_CONTEXT).health is Health.HEALTHY


@pytest.mark.rule("MHC A.2.4/request")
def test_machine_counts_by_its_health_and_not_by_its_request() -> None:
    assert not check().counts_requests


@pytest.mark.rule("MHC A.1/annotation/ignored on Machines")
@pytest.mark.parametrize("name", ["cluster.x-k8s.io/paused", "cluster.x-k8s.io/skip-remediation"])
def test_marks_of_cluster_api_on_a_machine_mean_nothing(name: str) -> None:
    parsed, one = check(), target(condition("Ready", "False"), annotations={name: ""})

    assert parsed.selects(one)
    assert parsed.is_unhealthy(one, EMPTY_CONTEXT)
    assert parsed.steps_for(one) == (DELETE,)


@pytest.mark.rule("rule 25", "rule 37", "rule 41")
def test_check_judges_by_its_own_rules_and_by_the_end_of_an_upgrade() -> None:
    parsed = check(unhealthyConditions=[NOT_READY | {"timeout": "1m"}], nodeStartupTimeout="2m")
    upgraded = ClusterContext(upgrade=Upgrade(phase=UpgradePhase.OVER, since=NOW))
    broken, starting = target(condition("Ready", "False", CREATED)), without_node(updated=CREATED)

    assert parsed.verdict(broken, NOW, EMPTY_CONTEXT).deadline == CREATED + timedelta(minutes=1)
    assert parsed.verdict(broken, NOW, upgraded).deadline == NOW + timedelta(minutes=1)
    assert parsed.verdict(starting, NOW, EMPTY_CONTEXT).deadline == CREATED + timedelta(minutes=2)
    assert parsed.verdict(starting, NOW, upgraded).deadline == NOW + timedelta(minutes=2)
    fact = parsed.verdict(broken, NOW, EMPTY_CONTEXT).fact
    assert fact is not None
    assert parsed.still_states(fact, broken, ClusterContext())
    assert not parsed.still_states(fact, target(HEALTHY_NODE), ClusterContext())


@pytest.mark.rule("rule 27")
def test_check_whose_template_is_missing_has_a_problem() -> None:
    known = TemplateKind()

    def kinds(api_version: str, kind: str) -> TemplateKind:  # noqa: ARG001  there is one
        return known

    with_template = check(remediationTemplate=TEMPLATE)
    problem = with_template.problem(EMPTY_CONTEXT, kinds)
    assert problem is not None
    assert (problem.reason, problem.hold.reason) == ("RemediationTemplateNotFound", HoldReason.DISABLED)
    assert check().problem(EMPTY_CONTEXT, kinds) is None
    there = Template.model_validate({"metadata": {"name": "reboot", "uid": "1"}, "spec": {"template": {}}})
    known = TemplateKind(templates={Place(NAMESPACE, "reboot"): there})
    assert with_template.problem(EMPTY_CONTEXT, kinds) is None
    known = replace(known, request_rejection="no kind Metal3Remediation")
    problem = with_template.problem(EMPTY_CONTEXT, kinds)
    assert problem is not None
    assert (problem.reason, problem.message) == (
        "RemediationRequestCreationFailed",
        "no kind Metal3Remediation",
    )
