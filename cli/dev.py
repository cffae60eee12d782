"""`paramedic dev`: a real control plane, a real Temporal server and our processes on this machine."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from cli.choosing import at_least
from cli.failing import UsageError, fail

PROVISIONING_SECONDS, DAY_SECONDS = 5, 24 * 60 * 60

Directory = Annotated[Path, typer.Option("--dir", help="Where data, logs and dev.json are kept.")]
Nodes = Annotated[
    int, typer.Option(parser=at_least(0), metavar="NUMBER", help="How many simulated kubelets to run.")
]
Without = Annotated[str, typer.Option(help="Leave out: detector, worker, or both by a comma.")]
WithMachines = Annotated[
    bool, typer.Option("--machines", help="Give each Machine of OpenShift a simulated node.")
]
Provisioning = Annotated[
    int,
    typer.Option(
        parser=at_least(1, DAY_SECONDS),
        metavar="SECONDS",
        help="With --machines: how long a Machine waits for it.",
    ),
]
BackOffLimit = Annotated[
    int | None,
    typer.Option(
        parser=at_least(0, DAY_SECONDS),
        metavar="SECONDS",
        help="The longest wait between two remediations in a row; 0: none. By default, the detector's own.",
    ),
]


def dev(  # noqa: PLR0913  each is an option
    directory: Directory,
    *,
    simulate_nodes: Nodes = 0,
    without: Without = "",
    machines: WithMachines = False,
    provisioning: Provisioning = PROVISIONING_SECONDS,
    back_off_limit: BackOffLimit = None,
) -> None:
    """Run everything in the foreground until Ctrl-C; DIR/dev.json appears when all is ready."""
    # Here, because operation needs nothing of development, neither its packages nor its time.
    from devcluster.dev import DevSettings, run  # noqa: PLC0415  see above
    from devcluster.errors import DevclusterError, SettingsError  # noqa: PLC0415  see above

    left_out = frozenset(name.strip() for name in without.split(",") if name.strip())
    delay = timedelta(seconds=provisioning) if machines else None
    limit = None if back_off_limit is None else timedelta(seconds=back_off_limit)
    try:
        asyncio.run(run(DevSettings(directory, simulate_nodes, left_out, delay, limit)))
    except SettingsError as error:
        raise fail(UsageError(str(error))) from error
    except DevclusterError as error:
        raise fail(error) from error
