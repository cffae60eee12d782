"""`paramedic demo`: a node fails and is remediated, live, while the worker is killed in the middle."""

import asyncio
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from devcluster.demo.settings import DemoSettings
from devcluster.demo.story import run


def demo(
    *,
    stay: Annotated[bool, typer.Option("--stay", help="Keep everything up until Ctrl-C.")] = False,
    directory: Annotated[Path | None, typer.Option("--dir", help="Where to keep data and logs.")] = None,
) -> None:
    """Show one remediation on six simulated nodes; exit code 0 when the node is healthy again."""
    where = directory or Path(tempfile.mkdtemp(prefix="paramedic-demo-"))
    raise typer.Exit(asyncio.run(run(DemoSettings(where, stay=stay))))
