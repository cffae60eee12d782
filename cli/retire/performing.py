"""Runs `paramedic retire`: connections, progress, and the closing report."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

import typer
from pydantic import ValidationError

from cli.connection import temporal
from cli.doctor.cluster_examination import identities
from cli.errors import CommandError
from cli.global_stop import order_stop
from cli.retire.cluster import RetiredCluster
from cli.retire.no_workflows import NoWorkflows
from cli.retire.owned_objects import OwnedObject
from cli.retire.retirement import Retirement
from cli.retire.workflows import ClusterWorkflows
from cli.terminal import plain
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


@dataclass(frozen=True)
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
    asked: RetireOptions,
    tell: Callable[[str], None],
    tell_progress: Callable[[str], None],
) -> None:
    """Retire the cluster, or print the plan.

    Raises:
        CommandError: the cluster is not retired, or that is unknown.

    """
    settings = asked.settings
    try:
        async with await Transport.connect(context=asked.kubeconfig_context) as transport:
            connection = ClusterConnection.over(transport)
            identity, *_ = identities(
                settings.cluster, await read_cluster_identity(connection.client, settings.cluster)
            )
            async with _workflows(context, asked, identity, _plainly(tell)) as workflows:
                cluster = RetiredCluster(connection, settings)
                retirement = Retirement(
                    cluster,
                    workflows,
                    identity,
                    beside=asked.beside,
                    is_handed_over=asked.is_handed_over,
                    scale_down=lambda name: (
                        f"`kubectl -n {settings.namespace} scale deployment {name} --replicas=0`"
                    ),
                    tell=_plainly(tell),
                    tell_progress=_plainly(tell_progress),
                )
                if asked.is_dry:
                    await _say_plan(retirement, asked, identity, _plainly(tell))
                    return
                await retirement.examine()
                tell(await order_stop(asked.kubeconfig_context, settings.lease_namespace, STOP))
                left = await retirement.carry_out(asked.within)
                evidence = await cluster.evidence()
                _say_end(left, evidence, asked, identity, _plainly(tell))
    except KubernetesError as error:
        raise CommandError(error.message) from error
    except ValidationError as error:
        problem = error.errors(include_url=False, include_context=False)[0]
        field = ".".join(map(str, problem["loc"]))
        raise CommandError(f"an object of the cluster cannot be read: {field}: {problem['msg']}") from error


@asynccontextmanager
async def _workflows(
    context: typer.Context, asked: RetireOptions, identity: str, tell: Callable[[str], None]
) -> AsyncIterator[ClusterWorkflows | NoWorkflows]:
    if asked.is_without_temporal:
        yield NoWorkflows()
        return
    async with temporal(context) as client:
        verb = "handed over" if asked.is_handed_over else "retired"
        reason = f"{verb} by {client.identity}"
        yield ClusterWorkflows(client, identity, reason, tell, is_handed_over=asked.is_handed_over)


def _plainly(tell: Callable[[str], None]) -> Callable[[str], None]:
    return lambda sentence: tell(plain(sentence))


async def _say_plan(
    retirement: Retirement, asked: RetireOptions, identity: str, tell: Callable[[str], None]
) -> None:
    planned = await retirement.planned()
    tell(f"of the cluster {identity}, `paramedic retire` would")
    tell(f"stop everything new, by the namespace {asked.settings.lease_namespace}")
    for one in planned:
        tell(one)


def _say_end(
    left: tuple[OwnedObject, ...],
    evidence: str,
    asked: RetireOptions,
    identity: str,
    tell: Callable[[str], None],
) -> None:
    """Print the objects that are left, and the next command."""
    for one in left:
        tell(f"left {one.name}: {one.why}")
    if evidence:
        tell(f"left {evidence}")
    stop = f"the stop on the namespace {asked.settings.lease_namespace}"
    tell(f"left {stop}: no other controller reads it, and `paramedic start` lifts it if Paramedic comes back")
    if asked.is_without_temporal:
        tell(UNKNOWN.format(identity))
    done = "handed over" if asked.is_handed_over else "retired"
    tell(f"{identity} is {done}: nothing of Paramedic is under way there; {UNINSTALL}")
