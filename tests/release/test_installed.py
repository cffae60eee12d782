"""The environment of the image, made by its script from the wheel and its locked packages.

It has no packages for development or tests. Then foreign packages with the names of ours are added.
"""

import asyncio
import contextlib
import os
import shlex
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from pathlib import Path

import aiohttp
import pytest
import yaml

from devcluster.polling import until
from release.attestation import read_lock
from release.manifests import IMAGE
from release.release import LOCK, build_wheel, version_of
from tests.histories.files import files_of, read
from tests.support.api.ports import free_port
from tests.support.values.rights import of_installations

ROOT = Path(__file__).parents[2]
PATIENCE = timedelta(minutes=3)
REPLAY = """
import asyncio, json, sys
from pathlib import Path
from paramedic.entry import see_packages
see_packages()
from temporalio.client import WorkflowHistory
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.worker import Replayer
import workflows
from workflows.remediation import Remediation
replayer = Replayer(workflows=[Remediation], data_converter=pydantic_data_converter)
history = json.loads(Path(sys.argv[1]).read_text())
workflow_id = history["events"][0]["workflowExecutionStartedEventAttributes"]["workflowId"]
asyncio.run(replayer.replay_workflow(WorkflowHistory.from_json(workflow_id, history)))
print(workflows.__file__)
"""
ASK_FOR_HELP = """
import os, runpy, shlex, sys
from pathlib import Path
from cli import main
from detector import detector
from worker import worker
for command in sys.argv[1:]:
    if os.fork():
        _, status = os.wait()
        assert status == 0, command
        continue
    program, *sys.argv = shlex.split(command) + ["--help"]
    if program == "python":
        sys.argv.remove("-m")
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        script = Path(sys.executable).with_name(program)
        sys.argv.insert(0, str(script))
        runpy.run_path(str(script), run_name="__main__")
"""
"""Each command in a copy of one process, which has imported what takes them longest."""


@dataclass(frozen=True)
class Installed:
    """An environment, of which nothing else is inherited."""

    directory: Path

    @property
    def packages(self) -> Path:
        (found,) = self.directory.glob("lib/python3.*/site-packages")
        return found

    def run(self, program: str, *arguments: str) -> str:
        """The output of a program in it."""
        command = [str(self.directory / "bin" / program), *arguments]
        ran = subprocess.run(  # noqa: S603  ours
            command,
            cwd="/",
            env={},
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE.total_seconds(),
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(ROOT, tmp_path_factory.mktemp("wheel"), datetime(2026, 11, 1, tzinfo=UTC))


@pytest.fixture(scope="module")
def image(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The image's environment, from the wheels that `make install` keeps."""
    directory = tmp_path_factory.mktemp("image") / "paramedic"
    wheels = Path(sys.prefix) / "wheels"
    assert wheels.is_dir(), "run `make install`: the wheels of the lock file are not there"
    tools = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}
    script = [str(ROOT / "deploy" / "image" / "build.sh"), str(built), str(directory)]
    offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels)}
    subprocess.run(  # noqa: S603  ours
        script, env=tools | offline, cwd="/", check=True, capture_output=True
    )
    return Installed(directory)


@pytest.fixture(scope="module")
def shared(image: Installed) -> Iterator[Installed]:
    """The same environment, with another's packages of our names."""
    names = [package.name for package in (image.packages / "paramedic" / "packages").iterdir()]
    files = [image.packages / name / "__init__.py" for name in names]
    for file in files:
        file.parent.mkdir()
        file.write_text("IS_ANOTHERS = True\n")
    yield image
    for file in files:
        file.unlink()


def test_wheel_takes_one_name_and_has_all_that_operates(built: Path) -> None:
    names = {Path(name) for name in zipfile.ZipFile(built).namelist()}
    modules = {
        file.relative_to(ROOT)
        for room in ROOT.glob("[!.]*/__init__.py")
        if room.parent.name not in {"tests", "paramedic"}
        for file in room.parent.rglob("*.py")
    }

    assert {name.parts[0] for name in names if ".dist-info" not in name.parts[0]} == {"paramedic"}
    inside = Path("paramedic", "packages")
    found = {name.relative_to(inside) for name in names if name.is_relative_to(inside)}
    roles = {name for name in found if name.parts[0] == "deploy"}
    assert found - roles == modules
    assert {str(role) for role in roles} >= {right.granted_by for right in of_installations()}


def test_image_has_what_is_locked_and_nothing_of_development(image: Installed) -> None:
    listed = (
        "from importlib.metadata import distributions as d; print(*(f'{i.name}=={i.version}' for i in d()))"
    )
    found = {
        name.lower().replace("_", "-").replace(".", "-") for name in image.run("python", "-c", listed).split()
    }

    locked = [f"{package.name}=={package.version}" for package in read_lock((ROOT / LOCK).read_text())]
    locked.append(f"paramedic=={version_of(ROOT)}")
    elsewhere = {"colorama"}  # on Windows alone
    assert found == {name.replace(".", "-") for name in locked if name.partition("==")[0] not in elsewhere}


def test_nothing_that_the_image_needs_is_missing_in_its_lock(image: Installed) -> None:
    uv = Path(sys.executable).with_name("uv")
    command = [str(uv), "pip", "check", "--python", str(image.directory)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  ours
    assert ran.returncode == 0, f"run `make lock`: {ran.stderr}"


def test_dependencies_of_the_image_are_those_that_were_tested() -> None:
    """A tool may need a package on every platform that the image needs on one alone."""
    tested = set(lock_lines(ROOT / "requirements.lock"))
    assert [line for line in lock_lines(ROOT / LOCK) if not {line, line.partition(" ;")[0]} & tested] == []


def lock_lines(file: Path) -> list[str]:
    """The lines of a lock file as pip reads them."""
    lines = (line.strip(" \\") for line in file.read_text().splitlines())
    return [line for line in lines if not line.startswith("#")]


def test_commands_of_the_manifests_are_programs_of_the_image(image: Installed) -> None:
    documents = [
        document
        for folder in ("base", "components")  # what overlays are made of
        for file in (ROOT / "deploy" / folder).rglob("*.yaml")
        for document in yaml.safe_load_all(file.read_text())
    ]
    commands = {shlex.join(found["command"]) for document in documents for found in containers(document)}
    commands |= {"python -m detector", "python -m worker"}

    answered = image.run("python", "-c", ASK_FOR_HELP, *commands)

    assert answered.lower().count("usage: ") == len(commands)


def containers(value: object) -> Iterator[dict[str, list[str]]]:
    """All containers of our image, wherever they stand."""
    if isinstance(value, list):
        for part in value:
            yield from containers(part)
    if isinstance(value, dict):
        if value.get("image") == IMAGE and "command" in value:
            yield value
        yield from containers(list(value.values()))


def test_packages_of_others_stay_theirs(shared: Installed) -> None:
    others = "import paramedic.entry, workflows, cli; print(workflows.IS_ANOTHERS, cli.IS_ANOTHERS)"
    assert shared.run("python", "-c", others) == "True True\n"


def test_command_beside_packages_of_others_asks_for_a_checkout_to_run_a_cluster_from(
    shared: Installed,
) -> None:
    command = [str(shared.directory / "bin" / "paramedic"), "demo", "--scenario", "machine"]
    ran = subprocess.run(command, cwd="/", env={}, capture_output=True, text=True, check=False)  # noqa: S603  ours

    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr == (
        "paramedic: dev and demo need a source checkout of Paramedic: there, `make demo` runs the demo, "
        "and `.venv/bin/paramedic demo --context NAME` runs it in your cluster\n"
    )


def test_command_beside_packages_of_others_tells_the_version_that_was_built(shared: Installed) -> None:
    assert shared.run("paramedic", "--version") == f"paramedic {version_of(ROOT)}\n"


def test_sandbox_of_temporal_takes_our_workflows_beside_packages_of_others(
    shared: Installed, tmp_path: Path
) -> None:
    history = tmp_path / "history.json"
    history.write_text(read(files_of("gone-while-waiting")[0]).to_json())

    replayed = shared.run("python", "-c", REPLAY, str(history))

    assert Path(replayed.strip()).is_relative_to(shared.packages / "paramedic" / "packages")


@pytest.mark.parametrize("name", ["detector", "worker"])
async def test_process_runs_without_a_cluster_beside_packages_of_others(shared: Installed, name: str) -> None:
    address = f"127.0.0.1:{free_port()}"

    async def answers() -> bool:
        assert process.returncode is None, "it has ended"
        return await is_alive(address)

    process = await asyncio.create_subprocess_exec(
        shared.directory / "bin" / f"paramedic-{name}",
        cwd="/",
        env={
            "PARAMEDIC_CLUSTER": "c",
            "PARAMEDIC_READY_ADDRESS": address,
            "TEMPORAL_ADDRESS": "127.0.0.1:1",
            "KUBECONFIG": os.devnull,
        },
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        await until(answers, within=PATIENCE, otherwise=f"the {name} does not answer")
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(PATIENCE.total_seconds()):
            assert await process.wait() == 0
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()


async def is_alive(address: str) -> bool:
    try:
        async with aiohttp.ClientSession() as session, session.get(f"http://{address}/healthz") as answer:
            return answer.status == HTTPStatus.OK
    except aiohttp.ClientConnectionError:
        return False
