"""`paramedic dev`: a real control plane, a real Temporal server and our processes on this machine."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from cli.choosing import at_least
from cli.failing import UsageError, fail

PROVISIONING_SECONDS = 5


def dev(
    directory: Annotated[Path, typer.Option("--dir", help="Where data, logs and dev.json are kept.")],
    *,
    simulate_nodes: Annotated[
        int,
        typer.Option(parser=at_least(0), metavar="NUMBER", help="How many simulated kubelets to run."),
    ] = 0,
    without: Annotated[str, typer.Option(help="Leave out: detector, worker, or both by a comma.")] = "",
    machines: Annotated[
        bool, typer.Option("--machines", help="Give each Machine of OpenShift a simulated node.")
    ] = False,
    provisioning: Annotated[
        int,
        typer.Option(
            parser=at_least(1), metavar="SECONDS", help="With --machines: how long a Machine waits for it."
        ),
    ] = PROVISIONING_SECONDS,
) -> None:
    """Run everything in the foreground until Ctrl-C; DIR/dev.json appears when all is ready."""
    # Here, because operation needs nothing of development, neither its packages nor its time.
    from devcluster.dev import DevSettings, run  # noqa: PLC0415  see above
    from devcluster.errors import DevclusterError, SettingsError  # noqa: PLC0415  see above

    left_out = frozenset(name.strip() for name in without.split(",") if name.strip())
    delay = timedelta(seconds=provisioning) if machines else None
    try:
        asyncio.run(run(DevSettings(directory, simulate_nodes, left_out, delay)))
    except SettingsError as error:
        raise fail(UsageError(str(error))) from error
    except DevclusterError as error:
        raise fail(error) from error
