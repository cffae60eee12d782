"""Runs `paramedic retire`: connections, progress, and the closing report."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

import typer
from pydantic import ValidationError

from cli.doctor.cluster_examination import identities
from cli.global_stop import order_stop
from cli.retire.cluster import RetiredCluster
from cli.retire.no_workflows import NoWorkflows
from cli.retire.owned_objects import OwnedObject
from cli.retire.retirement import Retirement
from cli.retire.workflows import ClusterWorkflows
from cli.shared.connection import temporal
from cli.shared.errors import CommandError
from cli.shared.terminal import plain
from kube.connection import ClusterConnection
from kube.errors import KubernetesError
from kube.transport import Transport
from runtime.cluster import read_cluster_identity
from runtime.settings import Settings

UNINSTALL = "docs/install.md#uninstall has the commands that delete the manifests"
STOP = "Paramedic is being retired"
UNKNOWN = (
    "not known without Temporal: which requests of operators were adopted, so these are left; and which "
    "workflows are open: if that Temporal comes back, terminate those with ParamedicCluster = '{}' before "
    "a worker starts"
)


@dataclass(frozen=True, kw_only=True)
class RetireOptions:
    """The arguments and options of the command."""

    settings: Settings
    kubeconfig_context: str | None
    within: timedelta
    is_handed_over: bool
    is_dry: bool
    is_without_temporal: bool
    beside: tuple[str, ...] = ()


async def perform(
    context: typer.Context,
    options: RetireOptions,
    print_line: Callable[[str], None],
    print_progress: Callable[[str], None],
) -> None:
    """Retire the cluster, or print the plan.

    Raises:
        CommandError: the cluster is not retired, or that is unknown.

    """
    settings = options.settings
    try:
        async with await Transport.connect(context=options.kubeconfig_context) as transport:
            connection = ClusterConnection.over(transport)
            identity, *_ = identities(
                settings.cluster, await read_cluster_identity(connection.client, settings.cluster)
            )
            async with _workflows(context, options, identity, _plainly(print_line)) as workflows:
                cluster = RetiredCluster(connection, settings)
                retirement = Retirement(
                    cluster,
                    workflows,
                    identity,
                    beside=options.beside,
                    is_handed_over=options.is_handed_over,
                    scale_down=lambda name: (
                        f"`kubectl -n {settings.namespace} scale deployment {name} --replicas=0`"
                    ),
                    print_line=_plainly(print_line),
                    print_progress=_plainly(print_progress),
                )
                if options.is_dry:
                    await _print_plan(retirement, options, identity, _plainly(print_line))
                    return
                await retirement.examine()
                print_line(await order_stop(options.kubeconfig_context, settings.lease_namespace, STOP))
                left = await retirement.carry_out(options.within)
                evidence = await cluster.evidence()
                _print_end(left, evidence, options, identity, _plainly(print_line))
    except KubernetesError as error:
        raise CommandError(error.message) from error
    except ValidationError as error:
        problem = error.errors(include_url=False, include_context=False)[0]
        field = ".".join(map(str, problem["loc"]))
        raise CommandError(f"an object of the cluster cannot be read: {field}: {problem['msg']}") from error


@asynccontextmanager
async def _workflows(
    context: typer.Context, options: RetireOptions, identity: str, print_line: Callable[[str], None]
) -> AsyncIterator[ClusterWorkflows | NoWorkflows]:
    if options.is_without_temporal:
        yield NoWorkflows()
        return
    async with temporal(context) as client:
        verb = "handed over" if options.is_handed_over else "retired"
        reason = f"{verb} by {client.identity}"
        yield ClusterWorkflows(client, identity, reason, print_line, is_handed_over=options.is_handed_over)


def _plainly(print_line: Callable[[str], None]) -> Callable[[str], None]:
    return lambda sentence: print_line(plain(sentence))


async def _print_plan(
    retirement: Retirement, options: RetireOptions, identity: str, print_line: Callable[[str], None]
) -> None:
    planned = await retirement.planned()
    print_line(f"of the cluster {identity}, `paramedic retire` would")
    print_line(f"stop everything new, by the namespace {options.settings.lease_namespace}")
    for one in planned:
        print_line(one)


def _print_end(
    left: tuple[OwnedObject, ...],
    evidence: str,
    options: RetireOptions,
    identity: str,
    print_line: Callable[[str], None],
) -> None:
    """Print the objects that are left, and the next command."""
    for one in left:
        print_line(f"left {one.name}: {one.why}")
    if evidence:
        print_line(f"left {evidence}")
    stop = f"the stop on the namespace {options.settings.lease_namespace}"
    print_line(
        f"left {stop}: no other controller reads it, and `paramedic start` lifts it if Paramedic comes back"
    )
    if options.is_without_temporal:
        print_line(UNKNOWN.format(identity))
    done = "handed over" if options.is_handed_over else "retired"
    print_line(f"{identity} is {done}: nothing of Paramedic is under way there; {UNINSTALL}")
