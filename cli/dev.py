"""`paramedic dev`: a real control plane, a real Temporal server and our processes on this machine."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from cli.failing import fail
from devcluster.dev import DevSettings, run
from devcluster.errors import DevclusterError


def dev(
    directory: Annotated[Path, typer.Option("--dir", help="Where data, logs and dev.json are kept.")],
    simulate_nodes: Annotated[int, typer.Option(help="How many simulated kubelets to run.", min=0)] = 0,
    without: Annotated[str, typer.Option(help="Leave out: detector, worker, or both by a comma.")] = "",
) -> None:
    """Run everything in the foreground until Ctrl-C; DIR/dev.json appears when all is ready."""
    left_out = frozenset(name.strip() for name in without.split(",") if name.strip())
    try:
        asyncio.run(run(DevSettings(directory, simulate_nodes, left_out)))
    except DevclusterError as error:
        raise fail(error) from error
