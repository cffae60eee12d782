"""The scenario `cluster-api`, played where each thing has happened at the first look."""

import io
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console
from temporalio.client import WorkflowExecutionStatus

from devcluster.demo.cluster_view import MachineSeen, NodeSeen
from devcluster.demo.narrator import Narrator
from devcluster.demo.scenarios import cluster_api
from devcluster.demo.stage import PlayOptions
from devcluster.simulation.machine_api import MachineCondition
from health.model.moves import Phase
from workflows.messages import State

NODE = NodeSeen("node-3", "uid-of-node", "0dd27598-boot")
MACHINE = MachineSeen("demo-x7k2p", "uid", NODE, "cluster.x-k8s.io")
READY = {"lastTransitionTime": "2026-01-02T03:04:05Z", "reason": "NodeStatusUnknown"}
MARK = MachineCondition(
    type="HealthCheckSucceeded",
    status="False",
    reason="UnhealthyNode",
    message="Health check failed:\n  * Condition Ready on Node is Unknown.",
)


def answer(value: object) -> Callable[..., Awaitable[Any]]:
    async def answered(*_: object, **__: object) -> object:
        return value

    return answered


DONE = answer("done")


@pytest.fixture
async def said() -> str:
    written = io.StringIO()
    run: Any = SimpleNamespace(
        id="remediation/dev/demo",
        run_id="run-1",
        query=answer(State(phase=Phase.WAITING, details="acts in 5 s")),
        describe=answer(SimpleNamespace(status=WorkflowExecutionStatus.COMPLETED)),
        result=answer(SimpleNamespace(outcome="Remediated")),
    )
    stage: Any = SimpleNamespace(
        narrator=Narrator(Console(file=written)),
        options=PlayOptions(),
        dev=SimpleNamespace(temporal_ui="", temporal_namespace="", workload_kubeconfig=None),
        show=lambda *_: None,
        kubectl=lambda *_: "",
        incident=answer(run),
        cluster=SimpleNamespace(change_node=DONE, ready_condition=answer(READY)),
        cluster_api=SimpleNamespace(
            set_up=DONE,
            healthy_machines=answer([MACHINE] * 3),
            mark_of=answer(MARK),
            is_gone=DONE,
            newcomer_to=answer(MACHINE),
        ),
    )
    await cluster_api(stage)
    return written.getvalue()


def test_mark_is_quoted_with_its_reason_and_its_message(said: str) -> None:
    assert (
        "It is: Machine demo-x7k2p is marked for its owner, "
        "HealthCheckSucceeded=False and OwnerRemediated=False, "
        "UnhealthyNode: Health check failed: * Condition Ready on Node is Unknown.\n"
    ) in said


def test_owner_and_not_paramedic_takes_the_machine_away(said: str) -> None:
    assert "Its owner, MachineSet 'demo', finds the mark and deletes it. Paramedic does not.\n" in said
    assert "Machine demo-x7k2p is gone, and its Node node-3 of 'workload' with it.\n" in said
    assert said.endswith("after its node hung; nothing is left behind.\n")
