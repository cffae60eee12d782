"""Names that users give: their completion in a shell and by kubectl, and their match."""

import asyncio
import os
from asyncio.subprocess import DEVNULL, PIPE
from datetime import timedelta

import pytest

from cli.incidents.names import completions, incident_name, is_named
from cli.incidents.visibility import Filter, named
from devcluster.polling import until
from devcluster.programs import kubectl
from devcluster.temporal import TemporalServer
from health.model.moves import Phase
from health.model.references import IncidentReference, TargetReference, is_called
from objects.group_kind import ServedKind
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


NODE = TargetReference(kind="Node", name="a", uid="u")
MACHINE = TargetReference(kind="Machine", namespace="ns", name="a", uid="u")
OF_GROUP = TargetReference(kind="Widget", group="fleet.example", namespace="ns", name="a", uid="u")
KINDS = (
    ServedKind(group="", kind="Node", plural="nodes", versions=("v1",), is_namespaced=False),
    ServedKind(group="", kind="Machine", plural="machines", versions=("v1",), is_namespaced=True),
)


@pytest.mark.parametrize(
    ("name", "takes_node", "takes_machine"),
    [
        ("", True, True),
        ("a", True, True),
        ("Node/a", True, False),
        ("Machine/a", False, True),
        ("ns/a", False, True),
        ("Machine/ns/a", False, True),
        ("other/a", False, False),
        ("b", False, False),
        ("node/a", True, False),
        ("NODE/a", True, False),
        ("machine/a", False, True),
        ("machine/ns/a", False, True),
        ("Node/A", False, False),
    ],
)
def test_name_may_be_given_with_kind_and_namespace(
    name: str,
    takes_node: bool,  # noqa: FBT001  a column of the table
    takes_machine: bool,  # noqa: FBT001  a column of the table
) -> None:
    of_node, of_machine = (INCIDENT.model_copy(update={"target": target}) for target in (NODE, MACHINE))
    wanted = Filter(target=name)
    assert (wanted.takes(of_node), wanted.takes(of_machine)) == (takes_node, takes_machine)


@pytest.mark.parametrize(
    ("name", "is_its_name"),
    [
        ("Widget.fleet.example/a", True),
        ("widget.fleet.example/ns/a", True),
        ("widget/a", True),
        ("Widget/ns/a", True),
        ("widget.other.example/a", False),
        ("widget.fleet/a", False),
        ("wid/a", False),
    ],
)
def test_kind_may_be_given_without_its_group(name: str, is_its_name: bool) -> None:  # noqa: FBT001  a column
    assert is_called(name, OF_GROUP) is is_its_name


def test_temporal_finds_whole_values_and_beginnings() -> None:
    assert named("Target", "o'a", KINDS) == "(Target = 'Node/o''a' OR Target STARTS_WITH 'Machine/')"
    assert named("Target", "Node/a", KINDS) == "(Target = 'Node/a' OR Target STARTS_WITH 'Machine/')"
    assert named("Target", "node/a", KINDS) == "(Target = 'Node/a' OR Target STARTS_WITH 'Machine/')"


def test_namespace_may_be_called_as_a_kind_is() -> None:
    there = MACHINE.model_copy(update={"namespace": "node"})
    assert is_called("node/a", there)
    assert is_called("node/a", NODE)


@pytest.mark.parametrize(
    "name",
    ["a", "node/a", "workers/a", "nodehealthcheck/workers/a", INCIDENT.workflow_id.replace("node-1", "a")],
)
def test_incident_has_the_names_of_its_target_and_of_its_check_over_it(name: str) -> None:
    incident = INCIDENT.model_copy(update={"target": INCIDENT.target.model_copy(update={"name": "a"})})
    assert is_named(name, incident)
    assert not is_named(f"{name}b", incident)


def test_check_may_be_called_as_ids_of_workflows_begin() -> None:
    check = INCIDENT.check.model_copy(update={"name": "remediation"})
    assert is_named("remediation/node-1", INCIDENT.model_copy(update={"check": check}))
    assert incident_name("remediation/node-1") == "remediation/node-1"
