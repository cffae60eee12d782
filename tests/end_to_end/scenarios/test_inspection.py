"""`explain`, `check` and `simulate` read a live cluster and answer as its detector does."""

import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.incidents.state_queries import BUSY, NO_WORKER
from cli.inspection.connecting import USER_AGENT
from devcluster.control_plane import ControlPlane
from devcluster.temporal import TemporalServer
from kube.resource import Object
from tests.support.cluster.command import Command
from tests.support.story.paramedic import Paramedic
from tests.support.story.policies import write_policy
from tests.support.story.world import World
from workflows.messages import INCIDENT_MEMO, WORKFLOW

pytestmark = pytest.mark.cluster

READS = ("get", "list", "watch")


@pytest.fixture
def command(temporal_server: TemporalServer, control_plane: ControlPlane, paramedic: Paramedic) -> Command:
    return Command(
        {
            **temporal_server.environment,
            "TEMPORAL_CONFIG_FILE": os.devnull,
            "KUBECONFIG": str(control_plane.kubeconfig),
            "PARAMEDIC_CLUSTER": paramedic.cluster_name,
        }
    )


async def document(command: Command, *arguments: str) -> Any:
    """The JSON that a command prints, which must succeed without a warning."""
    ran = await command(*arguments, "-o", "json")
    assert (ran.code, ran.err) == (0, "")
    return json.loads(ran.out)


@pytest.fixture
async def invalid_policy(world: World, policy: str) -> AsyncIterator[None]:
    await write_policy(world.client, "{backOffLimit: 0s, limits: {maxInFlight: x}}")
    yield
    await write_policy(world.client, policy)


def with_threshold(stored: Object, least: int, file: Path) -> str:
    """A file with a stored check under another threshold."""
    spec, metadata = stored["spec"] | {"minHealthy": least}, {"name": stored["metadata"]["name"]}
    file.write_text(yaml.safe_dump({**stored, "metadata": metadata, "spec": spec}))
    return str(file)


def writes(audit_log: Path) -> list[tuple[str, str]]:
    """The writes of the commands, except dry runs."""
    events = (json.loads(line) for line in audit_log.read_text().splitlines() if USER_AGENT in line)
    return [
        (event["verb"], event["requestURI"])
        for event in events
        if event["verb"] not in READS and "dryRun=All" not in event["requestURI"]
    ]


async def test_commands_answer_as_the_detector_does_and_write_nothing(
    world: World, command: Command, control_plane: ControlPlane, tmp_path: Path
) -> None:
    first, second, third = await world.add_nodes(3)
    await world.add_check(minHealthy=2)
    await world.until_status(observedNodes=3, healthyNodes=3)
    healthy = await command("explain", first)
    assert "healthy, nothing to do" in healthy.out
    assert "Ready=Unknown for longer than 1s: it would be remediated" in healthy.out

    await world.fail(first)
    await world.until_requested(first)
    of_third = (await document(command, "explain", third))["checks"][0]
    words = "2 of 3 unhealthy, at most 1 allowed"
    assert of_third["if_it_failed"]["threshold"]["words"] == words
    assert of_third["if_it_failed"]["holds"] == [{"reason": "Threshold", "message": words}]
    assert of_third["state"] == "Healthy"

    await world.fail(second)
    await world.until_phase(second, "Held")
    await world.until_seen(second, lambda seen: seen.hold is not None and seen.hold.message == words)
    of_second = (await document(command, "explain", f"node/{second}"))["checks"][0]
    assert of_second["holds"] == [{"reason": "Threshold", "message": words}]
    assert of_second["incident"] == (await world.incident(second)).workflow_id

    of_check = await document(command, "check", world.name)
    decided = {
        decision["target"].removeprefix("Node/"): decision["decided"] for decision in of_check["decisions"]
    }
    assert decided == {first: "remediating", second: "held"}
    assert of_check["threshold"]["words"] == words

    simulated = await document(
        command, "simulate", with_threshold(await world.check(), 1, tmp_path / "check.yaml")
    )
    (check,) = simulated["checks"]
    treated = {row["target"].removeprefix("Node/"): row["decided"] for row in check["simulated"]}
    assert treated == {first: "remediating", second: "may act"}
    assert [row["decided"] for row in check["now"]] == ["remediating", "held"]
    assert {incident["target"].removeprefix("Node/") for incident in simulated["replay"]["incidents"]} == {
        first,
        second,
    }
    assert world.requests.created(second) == 0
    assert writes(control_plane.audit_log) == []


async def test_names_that_nothing_has_and_checks_that_are_refused_are_named(
    world: World, command: Command, tmp_path: Path
) -> None:
    (node,) = await world.add_nodes(1)
    absent = await command("explain", "absent-node")
    assert (absent.code, absent.err) == (3, "paramedic: no Node or Machine is called 'absent-node'\n")
    unselected = await command("explain", node)
    assert (unselected.code, unselected.out) == (
        0,
        f"no check selects '{node}', so nothing is done if it fails\n",
    )
    unknown = await command("check", "absent-check")
    assert (unknown.code, unknown.out) == (3, "")
    assert "no check is called 'absent-check'" in unknown.err
    await world.add_check()
    refused = await command("simulate", with_threshold(await world.check(), -5, tmp_path / "check.yaml"))
    assert refused.code == 2
    assert "spec.minHealthy" in refused.err
    assert "-5" in refused.err


async def test_commands_say_what_people_ordered_and_do_not_promise_a_remediation(
    world: World, command: Command, tmp_path: Path
) -> None:
    held, aborted, claimed = nodes = await world.add_nodes(3)
    await world.add_check(minHealthy=3)
    for node in nodes:
        await world.fail(node)
    for node in nodes:
        await world.until_phase(node, "Held")
    given = [
        await command("hold", held, "--reason", "replacing its disk", "--for", "2h"),
        await command("abort", aborted, "--reason", "power work"),
        await command("claim", claimed),
    ]
    assert [ran.code for ran in given] == [0, 0, 0]
    await world.until_phase(aborted, "LeftAlone")

    of_held = (await document(command, "explain", held))["checks"][0]
    (order,) = of_held["standing"]
    assert (of_held["decided"], order["order"], order["reason"]) == (
        "held by a person",
        "hold",
        "replacing its disk",
    )
    assert order["identity"].startswith("ada@")
    assert [hold["reason"] for hold in of_held["holds"]] == ["Threshold"]
    page = (await command("explain", aborted)).out
    assert "left alone: power work" in page
    assert "by resume, or when it recovers" in page
    assert "a later failure is remediated as usual" in page

    page = (await command("check", world.name)).out
    assert f"1 held by a person: Node/{held}" in page
    assert f"1 left alone: Node/{aborted}" in page
    assert f"1 held: Threshold: Node/{claimed}" in page
    assert "replacing its disk; by ada@" in page
    assert f"Node/{claimed} by ada@" in page

    file = with_threshold(await world.check(), 0, tmp_path / "check.yaml")
    (check,) = (await document(command, "simulate", file))["checks"]
    decided = {row["target"].removeprefix("Node/"): row["decided"] for row in check["simulated"]}
    assert decided == {held: "held by a person", aborted: "left alone", claimed: "may act"}
    assert not world.requests.entries

    resumed = await command("resume", held)
    assert "; ended the hold by ada@" in resumed.out
    assert (await document(command, "explain", held))["checks"][0]["decided"] == "held"

    await world.recover(aborted)
    assert await world.outcome(aborted) == "Recovered"
    await world.fail(aborted)
    await world.until_phase(aborted, "Held")
    again = (await document(command, "explain", aborted))["checks"][0]
    assert (again["decided"], again["standing"]) == ("held", [])


async def test_incident_that_does_not_answer_is_unknown_and_stops_nothing(
    world: World, command: Command, tmp_path: Path
) -> None:
    silent, other = await world.add_nodes(2)
    await world.add_check(minHealthy=2)
    await world.fail(other)
    await world.until_phase(other, "Held")
    incident = await world.incident(silent)
    await world.temporal.start_workflow(
        WORKFLOW, id=incident.workflow_id, task_queue="without-workers", memo={INCIDENT_MEMO: incident}
    )
    await world.until(lambda: world.has_incident(silent), f"Temporal never listed the incident of {silent}")
    await world.fail(silent)
    await world.until_status(healthyNodes=0)

    sentence = f"orders and approvals for Node/{silent} under NodeHealthCheck/{world.name} are unknown: "
    of_check = await command("check", world.name)
    assert (of_check.code, of_check.err) == (0, f"paramedic: {sentence}{BUSY}\n")
    assert f"2 held: Threshold: Node/{silent}, Node/{other}" in of_check.out
    assert (await document(command, "explain", silent))["unknown_orders"] == [f"{sentence}{NO_WORKER}"]

    file = with_threshold(await world.check(), 0, tmp_path / "check.yaml")
    (check,) = (await document(command, "simulate", file))["checks"]
    decided = {row["target"].removeprefix("Node/"): row["decided"] for row in check["simulated"]}
    assert decided == {silent: "unknown", other: "may act"}
    await (await world.workflow(silent)).terminate("the test is over")


@pytest.mark.usefixtures("invalid_policy")
async def test_invalid_policy_is_neither_a_hold_nor_shadow_because_the_detector_keeps_the_last_one(
    world: World, command: Command
) -> None:
    (node,) = await world.add_nodes(1)
    await world.add_check()
    await world.until_status(observedNodes=1, healthyNodes=1)
    found = json.loads((await command("explain", node, "-o", "json")).out)
    assert "limits.maxInFlight" in found["unknown_policy"]
    (explained,) = found["checks"]
    assert (explained["is_shadow"], explained["holds"]) == (None, [])
    assert explained["if_it_failed"]["holds"] == []
    of_check = json.loads((await command("check", world.name, "-o", "json")).out)
    assert (of_check["is_shadow"], of_check["holds"]) == (None, [])
