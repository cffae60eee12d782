"""Retirement: ends all incidents of a cluster, so that nothing is lost or done twice (ADR 37).

1. The global stop is set: no act begins any more, whichever process runs (rule 42).
2. The detector must be gone, removed by the user who deployed it: it would start each incident again that is
   ended here. After that, the open incidents are the only ones.
3. Each incident gets the order to abort, so that the workers clean up, and is ended when they have
   (`cli/retire/workflows.py`). With `--hand-over` it is ended as it is.
4. The objects with the label of the installation are removed with the rights of the caller
   (`cli/retire/owned_objects.py`).

Without Temporal no order can be sent, and the actions of a worker are unknown: it must be gone, like the
detector.

Each round reads everything again and does what is possible then, so the command may be interrupted and
repeated at any time. It ends after two rounds in a row without anything to do, because a list of Temporal may
be late.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

import typer
from pydantic import ValidationError

from cli.global_stop import order_stop
from cli.retire.cluster import RetiredCluster
from cli.retire.owned_objects import (
    Disposition,
    OwnedObject,
    Snapshot,
    is_installed,
    owned_objects,
    refuse_other_place,
    running_operators,
)
from cli.retire.workflows import ClusterWorkflows, NoWorkflows
from cli.shared.connection import temporal
from cli.shared.errors import CommandError
from cli.shared.terminal import plain
from health.kinds.registry import CHECK_KINDS
from kube.connection import ClusterConnection, read_cluster_identity
from kube.errors import KubernetesError
from kube.transport import Transport
from objects.clusters import identities
from objects.field_problem import FieldProblem
from runtime.process_names import DETECTOR, WORKER
from runtime.settings import Settings

UNINSTALL = "docs/install.md#uninstall has the commands that delete the manifests"
STOP = "Paramedic is being retired"
LEFT_STOP = "it holds each installation that reads it, until `paramedic start` lifts it"
UNKNOWN = (
    "not known without Temporal: which workflows are open; if that Temporal comes back, terminate those with "
    "ParamedicCluster = '{}' before a worker starts"
)
BETWEEN_ROUNDS = timedelta(seconds=1)
QUIET_ROUNDS = 2
MOST_WAITS_SHOWN = 10
"""The most reasons in the message of a time-out."""
_DONE = {
    Disposition.DELETE: "deleted",
    Disposition.UNPAUSE: "unpaused",
    Disposition.REMOVE_ORDERS: "removed the orders on",
}


@dataclass(frozen=True, kw_only=True)
class RetireOptions:
    """The arguments and options of the command."""

    settings: Settings
    kubeconfig_context: str | None
    within: timedelta
    is_handed_over: bool
    is_dry: bool
    is_without_temporal: bool


async def perform(context: typer.Context, options: RetireOptions) -> None:
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
            async with _workflows(context, options, identity) as workflows:
                retirement = Retirement(RetiredCluster(connection, settings), workflows, identity, options)
                await (retirement.print_plan() if options.is_dry else retirement.carry_out())
    except KubernetesError as error:
        raise CommandError(error.message) from error
    except ValidationError as error:
        raise CommandError(f"an object of the cluster cannot be read: {FieldProblem.of(error)}") from error


@asynccontextmanager
async def _workflows(
    context: typer.Context, options: RetireOptions, identity: str
) -> AsyncIterator[ClusterWorkflows | NoWorkflows]:
    if options.is_without_temporal:
        yield NoWorkflows()
        return
    async with temporal(context) as client:
        verb = "handed over" if options.is_handed_over else "retired"
        reason = f"{verb} by {client.identity}"
        yield ClusterWorkflows(client, identity, reason, is_handed_over=options.is_handed_over)


@dataclass(frozen=True)
class RetirementPass:
    """The result of one round: actions, waits and leftovers."""

    waits: tuple[str, ...] = ()
    """Conditions that are not met yet."""
    has_acted: bool = False
    left: tuple[OwnedObject, ...] = ()

    @property
    def is_quiet(self) -> bool:
        return not self.waits and not self.has_acted


class Retirement:
    """Retires one cluster, in rounds that may be interrupted and repeated.

    Raises:
        CommandError: the name is wrong, an operator runs, an incident is encrypted, or the time is over.
        KubernetesError: a part of the cluster cannot be read.
        RPCError: Temporal cannot be asked.

    """

    def __init__(
        self,
        cluster: RetiredCluster,
        workflows: ClusterWorkflows | NoWorkflows,
        identity: str,
        options: RetireOptions,
    ) -> None:
        self._cluster = cluster
        self._workflows = workflows
        self._identity = identity
        self._options = options

    async def print_plan(self) -> None:
        """Print the actions that `carry_out` would take now; nothing is changed."""
        snapshot = await self._identified()
        if snapshot is None:
            return
        listed = await self._workflows.note_open()
        how = "leave what exists of it" if self._options.is_handed_over else "abort it"
        for line in (
            f"of the cluster {self._identity}, `paramedic retire` would",
            f"stop everything new, by the namespace {self._options.settings.lease_namespace}",
            *(
                f"wait for {process} {name} to end: {advice}"
                for process, name, advice in await self._running()
            ),
            *(f"{name}: {how}, and end it" for name in sorted(summary.short_name for summary in listed)),
            *(f"{workflow_id}: end it" for workflow_id in await self._workflows.others()),
            *map(str, self._owned(snapshot)),
        ):
            typer.echo(plain(line))

    async def carry_out(self) -> None:
        """Stop the cluster, retire it, and print the objects that are left."""
        if await self._identified() is None:
            return
        await self._workflows.note_open()
        options = self._options
        namespace = options.settings.lease_namespace
        typer.echo(await order_stop(options.kubeconfig_context, namespace, STOP))
        left = await self._until_retired()
        evidence = await self._cluster.evidence()
        done = "handed over" if options.is_handed_over else "retired"
        for line in (
            *(f"left {owned.name}: {owned.why}" for owned in left),
            *([f"left {evidence}"] if evidence else []),
            f"left the stop on the namespace {namespace}: {LEFT_STOP}",
            *([UNKNOWN.format(self._identity)] if options.is_without_temporal else []),
            f"{self._identity} is {done}: nothing of Paramedic is under way there; {UNINSTALL}",
        ):
            typer.echo(plain(line))

    async def _until_retired(self) -> tuple[OwnedObject, ...]:
        """Repeat rounds until two in a row have nothing to do. Returns the objects that are left."""
        quiet, progress, latest = 0, "", RetirementPass(waits=("nothing has been looked at yet",))
        try:
            async with asyncio.timeout(self._options.within.total_seconds()):
                while quiet < QUIET_ROUNDS:
                    latest = await self._round()
                    quiet = quiet + 1 if latest.is_quiet else 0
                    if latest.waits:
                        more = f"; and {len(latest.waits) - 1} more" if len(latest.waits) > 1 else ""
                        before = progress
                        progress = f"{self._workflows.progress}; not yet: {latest.waits[0]}{more}"
                        if progress != before:
                            typer.echo(plain(progress), err=True)
                    await asyncio.sleep(BETWEEN_ROUNDS.total_seconds() if quiet < QUIET_ROUNDS else 0)
        except TimeoutError as error:
            waits = "; ".join(latest.waits[:MOST_WAITS_SHOWN]) or "it was not looked at twice"
            others = len(latest.waits) - MOST_WAITS_SHOWN
            more = f"; and {others} more" if others > 0 else ""
            message = f"not retired yet: {waits}{more}; `paramedic retire` goes on from here"
            raise CommandError(message) from error
        return latest.left

    async def _identified(self) -> Snapshot | None:
        """The snapshot, if the installation of that name has left anything in it; None: nothing is left."""
        snapshot = await self._examined()
        if not is_installed(self._identity, snapshot, await self._workflows.clusters_at_work()):
            typer.echo(f"nothing is left of {self._identity} in this cluster; {UNINSTALL}")
            return None
        refuse_other_place(self._identity, snapshot, self._cluster.settings, self._workflows.namespace)
        return snapshot

    async def _examined(self) -> Snapshot:
        """The snapshot, unless an operator runs that may own the objects that would be removed."""
        snapshot = await self._cluster.read()
        leases = await self._cluster.operator_leases()
        running = running_operators(CHECK_KINDS.values(), leases, snapshot.now)
        if running and not self._options.is_handed_over:
            message = "its objects look like ours, which would be removed: --hand-over leaves all to it"
            raise CommandError(f"{running[0]}; {message}")
        return snapshot

    async def _running(self) -> list[tuple[str, str, str]]:
        """The processes that must end first: kind, name, and the command that ends each."""
        running = [("the detector", name, DETECTOR) for name in await self._cluster.detectors()]
        if isinstance(self._workflows, NoWorkflows):  # with Temporal, the worker is needed to clean up
            running += [("the worker", name, WORKER) for name in await self._cluster.deployed(WORKER)]
        kubectl = f"kubectl -n {self._options.settings.namespace}"
        return [
            (process, name, f"`{kubectl} scale deployment {deployment} --replicas=0`")
            for process, name, deployment in running
        ]

    async def _round(self) -> RetirementPass:
        try:
            if running := await self._running():
                return RetirementPass(
                    waits=tuple(f"{process} {name} runs: {advice}" for process, name, advice in running)
                )
            if still_open := await self._workflows.advance():
                return RetirementPass(waits=still_open)
            owned = self._owned(await self._examined())
            waits = [f"{one.name}: {one.why}" for one in owned if one.disposal is Disposition.AWAIT]
            due = [one for one in owned if one.disposal in _DONE]
            for one in due:
                if problem := await self._cluster.dispose(one):
                    waits.append(problem)
                else:
                    typer.echo(plain(f"{_DONE[one.disposal]} {one.name}: {one.why}"))
        except KubernetesError as error:
            return RetirementPass(waits=(error.message,))
        left = tuple(one for one in owned if one.disposal is Disposition.LEAVE)
        return RetirementPass(tuple(waits), bool(due), left)

    def _owned(self, snapshot: Snapshot) -> tuple[OwnedObject, ...]:
        return owned_objects(snapshot, self._identity, is_handed_over=self._options.is_handed_over)
