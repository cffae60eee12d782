"""`paramedic dev` and `paramedic demo`: run the whole system on this machine."""

import asyncio
import shutil
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from cli.shared.errors import UsageError, fail
from cli.shared.options import at_least, one_of
from kube.errors import NotConfigured
from runtime.settings import NOTIFICATION_DIRECTORY_VARIABLE

PROVISIONING_SECONDS, DAY_SECONDS = 5, 24 * 60 * 60

Directory = Annotated[Path, typer.Option("--dir", help="Directory for data, logs and dev.json.")]
Nodes = Annotated[
    int, typer.Option(parser=at_least(0), metavar="NUMBER", help="How many simulated kubelets to run.")
]
Without = Annotated[
    str, typer.Option(help="Parts to leave out, separated by commas: detector, worker, cluster-api-crds.")
]
WithMachines = Annotated[
    bool, typer.Option("--machines", help="Give each Machine of OpenShift a simulated node.")
]


def _version(text: str) -> str:
    from devcluster.cluster_api_crds import NewestVersion  # noqa: PLC0415  as in `dev`

    return one_of(NewestVersion)(text)


ClusterApiVersion = Annotated[
    str | None,
    typer.Option(
        "--cluster-api",
        parser=_version,
        metavar="[v1beta2|v1beta1]",
        help="Also run a workload cluster, with nodes for Machines of Cluster API up to this version.",
    ),
]
Provisioning = Annotated[
    int,
    typer.Option(
        parser=at_least(1, DAY_SECONDS),
        metavar="SECONDS",
        help="With --machines or --cluster-api: how long a Machine waits for its node.",
    ),
]
BackOffLimit = Annotated[
    int | None,
    typer.Option(
        parser=at_least(0, DAY_SECONDS),
        metavar="SECONDS",
        help="The longest back-off between two remediations; 0 turns it off. Default: that of the policy.",
    ),
]
NotificationDirectory = Annotated[
    Path | None,
    typer.Option(
        envvar=NOTIFICATION_DIRECTORY_VARIABLE,
        help="Directory of the files with the addresses of receivers of notifications.",
    ),
]


TemporalAddress = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT",
        help="Use this Temporal instead of starting one; its namespace paramedic is made if it is missing.",
    ),
]


def dev(  # noqa: PLR0913  each is an option
    directory: Directory,
    *,
    simulate_nodes: Nodes = 0,
    without: Without = "",
    machines: WithMachines = False,
    cluster_api: ClusterApiVersion = None,
    provisioning: Provisioning = PROVISIONING_SECONDS,
    back_off_limit: BackOffLimit = None,
    notification_directory: NotificationDirectory = None,
    temporal: TemporalAddress = None,
) -> None:
    """Run everything in the foreground until Ctrl-C.

    DIR/dev.json appears when all is ready.
    """
    # Imported here, because other commands need neither these packages nor the time to load them.
    from devcluster.cluster_api_crds import NewestVersion  # noqa: PLC0415  see above
    from devcluster.dev import DevSettings, run  # noqa: PLC0415  see above
    from devcluster.errors import DevclusterError, OptionsError  # noqa: PLC0415  see above

    try:
        settings = DevSettings(
            directory=directory,
            simulate_nodes=simulate_nodes,
            without=frozenset(name.strip() for name in without.split(",") if name.strip()),
            machines=machines,
            back_off_limit=None if back_off_limit is None else timedelta(seconds=back_off_limit),
            notification_directory=notification_directory,
            cluster_api=NewestVersion(cluster_api) if cluster_api else None,
            provisioning=timedelta(seconds=provisioning),
            temporal=temporal,
        )
        asyncio.run(run(settings))
    except OptionsError as error:
        raise fail(UsageError(str(error))) from error
    except DevclusterError as error:
        raise fail(error) from error


def _scenario(text: str) -> str:
    from devcluster.demo.scenarios import Scenario  # noqa: PLC0415  as in `dev`

    return one_of(Scenario)(text)


CleanUp = Annotated[
    bool, typer.Option("--clean-up", help="With --context: only remove what a killed demo left.")
]
Context = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Play in the cluster of this context of your kubeconfig, with simulated nodes, and remove all.",
    ),
]


def demo(
    *,
    context: Context = None,
    clean_up: CleanUp = False,
    scenario: Annotated[
        str,
        typer.Option(
            parser=_scenario,
            metavar="[node|machine|cluster-api|upgrade]",
            help="Which failure to show.",
        ),
    ] = "node",
    stay: Annotated[bool, typer.Option("--stay", help="Keep everything up until Ctrl-C.")] = False,
    directory: Annotated[
        Path | None,
        typer.Option(
            "--dir",
            help="Directory to keep data and logs in; by default they are deleted unless the demo fails.",
        ),
    ] = None,
) -> None:
    """Show remediations on simulated nodes or Machines.

    The exit code is 0 if all are healthy at the end.
    """
    # Imported here, as in `dev`.
    from devcluster.demo.scenarios import Scenario  # noqa: PLC0415  see above
    from devcluster.demo.story import FAILURE, DemoSettings, run  # noqa: PLC0415  see above
    from devcluster.errors import OptionsError  # noqa: PLC0415  see above
    from devcluster.user_cluster.cluster import RefusedError  # noqa: PLC0415  see above
    from devcluster.user_cluster.story import UserClusterSettings  # noqa: PLC0415  see above
    from devcluster.user_cluster.story import run as run_in_user_cluster  # noqa: PLC0415  see above

    if context is not None and scenario != "node":
        raise fail(UsageError(f"--context plays the scenario node only, not {scenario}"))
    if context is None and clean_up:
        raise fail(UsageError("--clean-up needs --context"))
    where = directory or Path(tempfile.mkdtemp(prefix="paramedic-demo-"))
    code = FAILURE
    try:
        if context is None:
            code = asyncio.run(run(DemoSettings(where, stay=stay, scenario=Scenario(scenario))))
        else:
            settings = UserClusterSettings(
                directory=where,
                context=context,
                stay=stay,
                clean_up_only=clean_up,
            )
            code = asyncio.run(run_in_user_cluster(settings))
    except (OptionsError, NotConfigured) as error:
        raise fail(UsageError(str(error))) from error
    except RefusedError as error:
        raise fail(error) from error
    finally:
        if directory is None and (code != FAILURE or not (where / "logs").exists()):
            shutil.rmtree(where, ignore_errors=True)  # a killed server may still write
    raise typer.Exit(code)
