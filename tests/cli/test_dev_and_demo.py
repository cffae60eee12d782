"""Refused options of `paramedic dev` and `paramedic demo`, and the end of a demo whose output is closed."""

import asyncio
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from cli.dev import DAY_SECONDS
from cli.shared.options import at_least
from tests.support.cluster.command import PARAMEDIC, Command


@pytest.fixture
def paramedic() -> Command:
    return Command({})


@pytest.mark.parametrize("command", ["dev", "demo"])
async def test_directory_that_cannot_be_used_is_named_in_one_sentence(
    paramedic: Command, command: str
) -> None:
    ran = await paramedic(command, "--dir", "/proc/foo")
    assert ran.code == 2
    assert ran.err.startswith("paramedic: --dir /proc/foo cannot be used: ")
    assert ran.err.count("\n") == 1
    assert ran.out == ""


async def test_part_that_does_not_exist_cannot_be_left_out(paramedic: Command, tmp_path: Path) -> None:
    ran = await paramedic("dev", "--dir", str(tmp_path), "--without", "foo")
    assert (ran.code, ran.err) == (
        2,
        "paramedic: --without knows detector, worker, cluster-api-crds; not foo\n",
    )


@pytest.mark.parametrize("value", ["-1", "9" * 18])
def test_back_off_limit_is_of_a_day_at_most_and_nothing_below_none(value: str) -> None:
    with pytest.raises(typer.BadParameter, match=f"'{value}' is not a whole number from 0 to 86400"):
        at_least(0, DAY_SECONDS)(value)


async def test_back_off_limit_that_makes_no_sense_is_refused(paramedic: Command, tmp_path: Path) -> None:
    ran = await paramedic("dev", "--dir", str(tmp_path), "--back-off-limit=-1")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("paramedic: invalid value for '--back-off-limit': '-1' is not a whole number ")


async def test_unknown_scenario_is_refused_with_the_list_of_known_ones(paramedic: Command) -> None:
    ran = await paramedic("demo", "--scenario", "foo")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(
        "paramedic: invalid value for '--scenario': 'foo' is not one of node, machine, cluster-api, upgrade "
    )


@pytest.fixture
def short() -> Iterator[Path]:
    """A directory for temporary files, short enough for sockets, wherever pytest keeps its own."""
    directory = Path(tempfile.mkdtemp(prefix="p-"))
    yield directory
    shutil.rmtree(directory)


async def test_demo_whose_servers_are_broken_says_why_within_seconds_and_keeps_its_logs(short: Path) -> None:
    servers = short / "servers"
    servers.mkdir()
    for name in ("etcd", "kube-apiserver", "kube-controller-manager"):
        version = "etcd Version: 3.6.8" if name == "etcd" else "Kubernetes v1.36.3"
        states = f'test "$1" = --version && echo "{version}" && exit'
        (servers / name).write_text(f"#!/bin/sh\n{states}\necho no memory >&2\nexit 3\n")
        (servers / name).chmod(0o755)
    (short / "kept").mkdir()
    ran = await Command({"TMPDIR": str(short / "kept"), "KUBEBUILDER_ASSETS": str(servers)})("demo")
    assert ran.code == 1
    assert "etcd ended with status 3, 3 times in a row, and said 'no memory': see " in ran.out
    (kept,) = (short / "kept").iterdir()
    assert f"Logs: {kept}/logs" in ran.out
    assert "no memory" in (kept / "logs" / "etcd.log").read_text()


@pytest.mark.cluster
async def test_demo_whose_reader_goes_away_ends_everything_and_leaves_nothing(short: Path) -> None:
    ours, its = os.pipe()
    process = await asyncio.create_subprocess_exec(
        PARAMEDIC,
        "demo",
        env={**os.environ, "TMPDIR": str(short), "PYTHONWARNINGS": "always"},
        stdout=its,
        stderr=asyncio.subprocess.PIPE,
    )
    os.close(its)
    with os.fdopen(ours) as reader:
        await asyncio.to_thread(reader.readline)
    async with asyncio.timeout(100):
        _, said = await process.communicate()
    assert (process.returncode, said) == (141, b"")
    assert left_in(short) == []
    assert not any(str(short) in line for line in command_lines())


def left_in(directory: Path) -> list[Path]:
    return list(directory.iterdir())


def command_lines() -> list[str]:
    status, out = subprocess.getstatusoutput("ps -eo args")  # noqa: S605,S607  a fixed command
    assert status == 0
    return out.splitlines()
