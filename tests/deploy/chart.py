"""Renders deploy/chart with Helm: its own output, and the objects of a release."""

import asyncio
import json
from pathlib import Path
from typing import Any

import yaml

from devcluster.go_programs import HELM
from kube.resource import Object
from tests.deploy.overlays import DEPLOY

CHART = DEPLOY / "chart" / "paramedic"


async def helm(*arguments: str) -> tuple[int, str, str]:
    """Its exit status, and what it says on stdout and stderr."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(HELM.binary(), *arguments, stdout=pipe, stderr=pipe)
    out, said = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), said.decode()


async def packaged(folder: Path) -> Path:
    """The chart as it is published, where its links have become files."""
    status, out, said = await helm("package", str(CHART), "--destination", str(folder))
    assert status == 0, said
    return Path(out.strip().rpartition(": ")[2])


async def refused(chart: Path, values: dict[str, Any]) -> str:
    """The error of Helm for these values."""
    status, _, said = await _template(chart, values, "paramedic-system")
    assert status != 0
    return said


async def release(
    chart: Path, values: dict[str, Any], namespace: str = "paramedic-system"
) -> tuple[Object, ...]:
    """All objects of a release with these values."""
    status, out, said = await _template(chart, values, namespace)
    assert status == 0, said
    return tuple(document for document in yaml.load_all(out, yaml.CSafeLoader) if document)


async def _template(chart: Path, values: dict[str, Any], namespace: str) -> tuple[int, str, str]:
    settings = [f"--set-json={name}={json.dumps(value)}" for name, value in values.items()]
    return await helm(
        "template", "paramedic", str(chart), "--namespace", namespace, "--include-crds", *settings
    )
