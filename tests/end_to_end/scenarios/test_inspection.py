"""`explain`, `check` and `simulate` are answered by the detector that leads, from its live state."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.shared.leader import USER_AGENT
from devcluster.control_plane import ControlPlane
from kube.resource import Object
from tests.support.cluster.command import Command
from tests.support.story.paramedic import Paramedic
from tests.support.story.world import World

pytestmark = pytest.mark.cluster

READS = ("get", "list", "watch")


async def document(command: Command, *arguments: str) -> Any:
    """The JSON that a command prints, which must succeed without a warning."""
    ran = await command(*arguments, "-o", "json")
    assert (ran.code, ran.err) == (0, "")
    return json.loads(ran.out)


async def until_decided(world: World, command: Command, node: str, decided: str) -> Any:
    """Wait until the leader knows what the incident reports; returns its answer about the one check."""
    answers: list[Any] = []

    async def is_decided() -> bool:
        answers.append((await document(command, "explain", node))["checks"][0])
        return bool(answers[-1]["decision"]["decided"] == decided)

    await world.until(is_decided, f"{node} is not {decided}")
    return answers[-1]


def reasons(holds: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(hold["reason"], hold["message"]) for hold in holds]


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
    assert reasons(of_third["if_it_failed"]["holds"]) == [("Threshold", words)]
    assert of_third["state"] == "Healthy"

    await world.fail(second)
    await world.until_phase(second, "Held")
    await world.until_seen(second, lambda seen: seen.hold is not None and seen.hold.message == words)
    of_second = (await document(command, "explain", f"node/{second}"))["checks"][0]
    assert reasons(of_second["holds"]) == [("Threshold", words)]
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
    assert (of_held["decision"]["decided"], order["order"], order["reason"]) == (
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
    await until_decided(world, command, held, "held")

    await world.recover(aborted)
    assert await world.outcome(aborted) == "Recovered"
    await world.fail(aborted)
    await world.until_phase(aborted, "Held")
    again = await until_decided(world, command, aborted, "held")
    assert again["standing"] == []


async def test_without_temporal_or_a_leader_the_command_names_the_lease_and_what_kubectl_shows(
    world: World, command: Command, paramedic: Paramedic, tmp_path: Path
) -> None:
    (node,) = await world.add_nodes(1)
    await world.add_check()
    await world.until_status(observedNodes=1, healthyNodes=1)
    lease = "the Lease paramedic-system/paramedic-detector"
    away = await command("explain", node, TEMPORAL_ADDRESS="127.0.0.1:1")
    assert away.code == 4
    assert away.err.startswith("paramedic: Temporal at 127.0.0.1:1 cannot be reached")
    assert f" leads by {lease}" in away.err
    assert f"Node/{node}\n  Ready=True " in away.out

    await paramedic.detector.stop()
    for asked in (
        ("explain", node),
        ("check", world.name),
        ("remediate", node, "--check", "c", "--reason", "r"),
    ):
        ran = await command(*asked)
        assert (ran.code, ran.err) == (
            4,
            f"paramedic: no detector leads, so nothing is done: {lease} has no holder\n",
        )
    assert "observedNodes: 1" in (await command("check", world.name)).out
    as_json = await command("check", world.name, "-o", "json")
    assert (as_json.code, as_json.out) == (4, "")
    file = with_threshold(await world.check(), 1, tmp_path / "check.yaml")
    assert (await command("simulate", file)).code == 4
