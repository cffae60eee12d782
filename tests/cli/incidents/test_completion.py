"""Completion in a shell and by kubectl, and `kubectl paramedic`."""

import asyncio
import os
from asyncio.subprocess import DEVNULL, PIPE
from datetime import timedelta

import pytest

from cli.incidents.names import completions
from devcluster.polling import until
from devcluster.programs import kubectl
from devcluster.temporal import TemporalServer
from health.model.moves import Phase
from health.model.references import IncidentReference
from tests.support.cluster.command import PARAMEDIC, Command
from tests.support.story.fleet import Fleet
from tests.support.values.builders import INCIDENT
from tests.support.values.observations import held


def incident(check: str, node: str) -> IncidentReference:
    return INCIDENT.model_copy(
        update={
            "check": INCIDENT.check.model_copy(update={"name": check}),
            "target": INCIDENT.target.model_copy(update={"name": node}),
        }
    )


PROGRAMS = PARAMEDIC.parent
OPEN = [incident("workers", "node-1"), incident("storage", "node-1"), incident("workers", "gpu-1")]


@pytest.mark.parametrize(
    ("incomplete", "expected"),
    [
        ("", ["gpu-1", "node-1"]),
        ("no", ["node-1"]),
        ("node-1/", []),
        ("workers/", ["workers/gpu-1", "workers/node-1"]),
        ("storage/n", ["storage/node-1"]),
    ],
)
def test_names_complete_targets_and_after_a_slash_those_of_a_check(
    incomplete: str, expected: list[str]
) -> None:
    assert completions(OPEN, incomplete) == expected


async def test_kubectl_runs_and_completes_the_command_as_its_plugin(
    fleet: Fleet, temporal_server: TemporalServer
) -> None:
    await fleet.fail("node-of-a-plugin", held())
    await fleet.reaches("node-of-a-plugin", Phase.HELD)
    await fleet.listed("Running", 1)
    environment = os.environ | {
        **temporal_server.environment,
        "PATH": f"{PROGRAMS}:{os.environ['PATH']}",
    }
    assert (await _kubectl(environment, "paramedic", "show", "-h")).startswith(
        "Usage: kubectl paramedic show"
    )

    async def is_completed() -> bool:  # a completion gives up after three seconds
        completed = await _kubectl(environment, "__complete", "paramedic", "show", "node-of-a-")
        return completed.splitlines()[:2] == ["node-of-a-plugin", ":4"]

    await until(is_completed, within=timedelta(minutes=1), otherwise="kubectl completed no name")


async def test_completion_without_temporal_completes_nothing_and_prints_no_error(paramedic: Command) -> None:
    typed = {"COMP_WORDS": "paramedic show no", "COMP_CWORD": "2", "_PARAMEDIC_COMPLETE": "complete_bash"}
    ran = await paramedic(TEMPORAL_ADDRESS="127.0.0.1:1", **typed)
    assert (ran.code, ran.out.strip(), ran.err) == (0, "", "")


async def _kubectl(environment: dict[str, str], *arguments: str) -> str:
    process = await asyncio.create_subprocess_exec(
        kubectl(), *arguments, env=environment, stdout=PIPE, stderr=DEVNULL
    )
    out, _ = await process.communicate()
    assert process.returncode == 0
    return out.decode().strip()
