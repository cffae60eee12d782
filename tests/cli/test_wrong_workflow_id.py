"""Copies of a workflow under an id that is not theirs: `list` and `show` stand them, doctor names them."""

from typing import Any

import pytest
from temporalio.client import WorkflowFailureError, WorkflowHandle

from cli.doctor.temporal import Temporal, wrong_workflow_ids
from cli.shared.connection import RPC_TIMEOUT
from runtime import search_attributes
from runtime.listed_incidents import Stranger, strangers
from tests.support.cluster.command import Command
from tests.support.story.fleet import Fleet
from tests.support.values.builders import NOW
from tests.support.values.observations import held
from workflows.contracts import worker_queue
from workflows.messages import WORKFLOW, RemediationInput
from workflows.upgrade_contracts import UPGRADE_PAUSE, UpgradePauseInput, upgrade_pause_id

pytestmark = pytest.mark.rule("rule 8/workflow")


async def copy(fleet: Fleet, node: str, workflow_id: str) -> WorkflowHandle[Any, Any]:
    """A copy as "Start Workflow Like This One" makes it: input and search attributes, and no memo."""
    incident = fleet.incident(node)
    return await fleet.client.start_workflow(
        WORKFLOW,
        RemediationInput(incident=incident),
        id=workflow_id,
        task_queue=worker_queue(fleet.cluster),
        search_attributes=search_attributes.of_incident(incident),
    )


async def copy_of_pause(fleet: Fleet, workflow_id: str) -> None:
    await fleet.client.start_workflow(
        UPGRADE_PAUSE,
        UpgradePauseInput(cluster=fleet.cluster),
        id=workflow_id,
        task_queue=worker_queue(fleet.cluster),
        search_attributes=search_attributes.of_cluster(fleet.cluster),
    )


async def test_strangers_are_those_whose_id_is_not_that_of_what_they_are_about(idle_fleet: Fleet) -> None:
    fleet, own = idle_fleet, idle_fleet.incident("node-1").workflow_id
    other, pause = fleet.incident("node-9").workflow_id, upgrade_pause_id(fleet.cluster)
    await fleet.fail("node-1", held())
    await copy(fleet, "node-2", fleet.incident("node-2").workflow_id)
    for id_ in (f"{own}-copy", other, f"{own[:-1]}x", f"by-hand-{fleet.cluster}"):
        await copy(fleet, "node-1", id_)
    await copy_of_pause(fleet, pause)
    await copy_of_pause(fleet, f"{pause}-copy")
    await fleet.listed("Running", 8)
    found = await strangers(fleet.client, [fleet.cluster], RPC_TIMEOUT)

    assert set(found) == {
        Stranger(f"{own}-copy", own),
        Stranger(other, own),
        Stranger(f"{own[:-1]}x", own),
        Stranger(f"by-hand-{fleet.cluster}", own),
        Stranger(f"{pause}-copy", pause),
    }
    (finding,) = await wrong_workflow_ids.findings(
        Temporal(client=fleet.client, clusters=[fleet.cluster], now=NOW)
    )
    assert finding.reason == "WrongWorkflowId"
    assert finding.what.count("a copy of ") == 3
    assert f"and {len(found) - 3} more" in finding.what


async def test_copy_without_search_attributes_is_a_stranger_on_the_queue_of_its_cluster(
    idle_fleet: Fleet,
) -> None:
    fleet, own = idle_fleet, idle_fleet.incident("node-1").workflow_id
    await fleet.client.start_workflow(
        WORKFLOW,
        RemediationInput(incident=fleet.incident("node-1")),
        id=f"by-client-{fleet.cluster}",
        task_queue=worker_queue(fleet.cluster),
    )
    await copy(fleet, "node-1", f"{own}-copy")
    await fleet.listed("Running", 1)
    found = await strangers(fleet.client, [fleet.cluster], RPC_TIMEOUT)

    assert set(found) == {Stranger(f"by-client-{fleet.cluster}", own), Stranger(f"{own}-copy", own)}


async def test_cluster_without_strangers_has_nothing_to_say(idle_fleet: Fleet) -> None:
    await idle_fleet.fail("node-1", held())
    await idle_fleet.listed("Running", 1)

    assert (
        await wrong_workflow_ids.findings(
            Temporal(client=idle_fleet.client, clusters=[idle_fleet.cluster], now=NOW)
        )
        == []
    )


async def test_list_says_why_a_copy_under_the_id_of_another_target_has_failed_and_show_takes_it_for_none(
    fleet: Fleet, paramedic: Command
) -> None:
    own = fleet.incident("node-1").workflow_id
    for id_ in (f"{own}-copy", fleet.incident("node-9").workflow_id):
        with pytest.raises(WorkflowFailureError):
            await (await copy(fleet, "node-1", id_)).result()
    await fleet.listed("Failed", 2)
    listed = (await paramedic("list", "--all", "--cluster", fleet.cluster, "-o", "json")).json["incidents"]
    shown = await paramedic("show", "node-9", "--cluster", fleet.cluster)

    assert [(incident["target"], incident["status"]) for incident in listed] == [("Node/node-9", "Failed")]
    assert f"nothing was done: the workflow of this subject is {own}" in listed[0]["problem"]
    assert (shown.code, shown.err) == (3, "paramedic: no incident of 'node-9'\n")
