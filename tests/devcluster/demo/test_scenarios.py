"""The texts of all scenarios, for values such as a demo sees."""

from types import NoneType
from typing import Any, get_type_hints

import pytest

from devcluster.demo.facts import ConditionSeen, MachineSeen, MarkSeen, NodeSeen, RequestSeen, Run
from devcluster.demo.scenarios import CLUSTER_API, SCRIPTS
from devcluster.demo.settings import Scenario
from devcluster.demo.stage import DemoStep, Environment, Stage, Success
from devcluster.demo.story import line_of
from health.model.moves import Phase
from workflows.messages import State

NODE = NodeSeen("node-3", "uid-of-node", "0dd27598-boot")
MACHINE = MachineSeen("demo-x7k2p", "uid", NODE, "cluster.x-k8s.io")
SAMPLES: dict[Any, object] = {
    bool: True,
    float: 12.3,
    int: 5432,
    str: "fc7f6395-boot",
    NoneType: None,
    ConditionSeen: ConditionSeen("Unknown", "2026-01-02T03:04:05Z", "NodeStatusUnknown"),
    MachineSeen: MACHINE,
    MarkSeen: MarkSeen("UnhealthyNode", "Health check failed: * Condition Ready on Node is Unknown."),
    RequestSeen: RequestSeen("PowerCycleRemediation", "default", "node-3"),
    State: State(phase=Phase.WAITING, details="acts in 5 s"),
}
EACH_STEP = [
    pytest.param(row, id=f"{scenario}-{row.wait.__name__}")
    for scenario, script in SCRIPTS.items()
    for row in script.rows
    if isinstance(row, DemoStep)
]


@pytest.fixture
def stage() -> Stage:
    stage = Stage(Environment.__new__(Environment))  # texts do not ask the environment
    stage.aim_at(MACHINE)
    stage.run = Run("remediation/dev/demo", "run-1")
    stage.pid = 4707
    return stage


def said(step: DemoStep, stage: Stage) -> list[str]:
    line = line_of(step, stage)
    return [line.before, line.after(SAMPLES[get_type_hints(step.wait)["return"]]), line.failure]


@pytest.mark.parametrize("step", EACH_STEP)
def test_texts_of_each_step_name_values_that_there_are(step: DemoStep, stage: Stage) -> None:
    before, after, failure = said(step, stage)
    assert before.endswith(".")
    assert after.endswith(".")
    assert failure[-1].isalnum()
    assert "None" not in after


@pytest.mark.parametrize("scenario", Scenario)
def test_each_scenario_ends_with_a_sentence_of_success(scenario: Scenario, stage: Stage) -> None:
    *_, last = SCRIPTS[scenario].rows
    assert isinstance(last, Success)
    assert stage.words(last.text).endswith("nothing is left behind.")


def of_cluster_api(wait: str) -> DemoStep:
    (found,) = (row for row in CLUSTER_API if isinstance(row, DemoStep) and row.wait.__name__ == wait)
    return found


def test_mark_is_quoted_with_its_reason_and_its_message(stage: Stage) -> None:
    assert said(of_cluster_api("cluster_api_machine_is_marked"), stage)[1] == (
        "It is: Machine demo-x7k2p is marked for its owner, "
        "HealthCheckSucceeded=False and OwnerRemediated=False, "
        "UnhealthyNode: Health check failed: * Condition Ready on Node is Unknown."
    )


def test_owner_and_not_paramedic_takes_the_machine_away(stage: Stage) -> None:
    before, after, _ = said(of_cluster_api("cluster_api_machine_is_gone"), stage)
    assert before == "Its owner, MachineSet 'demo', finds the mark and deletes it. Paramedic does not."
    assert after == "Machine demo-x7k2p is gone, and its Node node-3 of 'workload' with it."
