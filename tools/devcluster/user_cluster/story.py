"""`paramedic demo --context C`: plays the scenario `node` in a cluster of the user.

Simulated Nodes and the demo remediator join the cluster; Temporal, the detector and the worker run on this
machine. In the end everything is removed, also after Ctrl-C and after a failure. The next start removes the
rest of a killed demo.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from devcluster import layout
from devcluster.demo import actions
from devcluster.demo.dev_process import Ending, PipeConsole, dev_process
from devcluster.demo.narrator import Narrator
from devcluster.demo.scenarios import NODE
from devcluster.demo.settings import DemoSettings
from devcluster.demo.stage import CONSTANTS, DemoStep, Row
from devcluster.demo.story import FAILURE, SUCCESS, Performance, perform
from devcluster.errors import DevclusterError
from devcluster.user_cluster.guard_proxy import guarded_kubeconfig, upstream
from devcluster.user_cluster.names import CHECK, PREFIX
from devcluster.user_cluster.only_one import keeping_turn, take_turn
from devcluster.user_cluster.refusals import RefusedError, look, refuse, refuse_missing_rights
from devcluster.user_cluster.set_up import FIXTURES, SIMULATED_NODES, DemoCleanUp, install_definitions
from kube.client import Client
from kube.errors import KubernetesError
from kube.transport import Transport

SILENCE_NOTICED_WITHIN = timedelta(seconds=150)
"""Kubernetes notices a silent kubelet after 40 to 50 s, clusters of some providers later."""
LONGEST = timedelta(seconds=330)
NO_NODE_CONTROLLER = (
    "Probably the cluster runs no node-lifecycle controller, the part of kube-controller-manager that marks "
    "silent Nodes: start it, or take a cluster of kind or minikube. `paramedic dev` runs it only with "
    "--simulate-nodes."
)
FIELD_MANAGER = "paramedic-demo"


class _EndedError(Exception):
    """The demo has to end before it plays."""


@dataclass(frozen=True, kw_only=True)
class UserClusterSettings:
    """The cluster of the demo, and what it does there."""

    directory: Path
    """Data and logs of the servers on this machine."""
    context: str
    """The context in the kubeconfig of the user."""
    stay: bool = False
    despite_checks: bool = False
    """Begin although other controllers of the cluster act on health checks."""
    clean_up_only: bool = False
    """Only remove what a killed demo left."""


@dataclass(frozen=True, kw_only=True)
class _Cluster:
    """The two connections of the demo to one cluster."""

    everything: Transport
    """Past the guard, for reads of the objects of others."""
    guarded: Transport
    kubeconfig: Path
    """Leads through the guard."""

    @property
    def client(self) -> Client:
        return Client(self.guarded, FIELD_MANAGER)

    def clean_up(self, narrator: Narrator) -> DemoCleanUp:
        return DemoCleanUp(self.client, Client(self.everything), narrator.remark)


async def run(settings: UserClusterSettings) -> int:
    """Play the demo, or only clean up; the exit code of the process, 0 on success.

    Must run on the main thread: SIGINT and SIGTERM end it, and the clean-up follows. Raises OptionsError,
    RefusedError and NotConfigured, before anything is changed.
    """
    layout.prepare(settings.directory)
    ending = Ending()
    ending.listen_to_signals()
    narrator = Narrator(PipeConsole(ending))
    async with _connected(settings) as cluster:
        try:
            return await _run(cluster, settings, narrator, ending)
        except _EndedError:
            return ending.code
        except RefusedError:
            raise
        except (DevclusterError, KubernetesError, TimeoutError) as error:
            narrator.print_failure(str(error) or "The cluster did not answer in time.")
            if (logs := settings.directory / "logs").exists():
                narrator.show("Logs", str(logs))
            return FAILURE


@asynccontextmanager
async def _connected(settings: UserClusterSettings) -> AsyncIterator[_Cluster]:
    async with (
        upstream(settings.context) as found,
        guarded_kubeconfig(found, settings.directory) as kubeconfig,
        await Transport.connect(context=settings.context, user_agent=FIELD_MANAGER) as everything,
        await Transport.connect(str(kubeconfig), user_agent=FIELD_MANAGER) as guarded,
    ):
        yield _Cluster(everything=everything, guarded=guarded, kubeconfig=kubeconfig)


async def _run(cluster: _Cluster, settings: UserClusterSettings, narrator: Narrator, ending: Ending) -> int:
    await _unless_ended(_begin(cluster, settings), ending)
    async with keeping_turn(cluster.client):
        try:
            if settings.clean_up_only:
                return SUCCESS
            await _unless_ended(_set_up(cluster, narrator), ending)
            return await _play(cluster, settings, narrator, ending)
        finally:
            await _clean_up(cluster, settings, narrator)


async def _begin(cluster: _Cluster, settings: UserClusterSettings) -> None:
    """Refuse to begin, or become the only demo in the cluster."""
    found = await look(cluster.everything)
    if settings.clean_up_only:
        refuse_missing_rights(found.missing_rights, settings.context)
    else:
        refuse(found, settings.context, datetime.now(UTC), despite_checks=settings.despite_checks)
    await take_turn(cluster.client)


async def _set_up(cluster: _Cluster, narrator: Narrator) -> None:
    await cluster.clean_up(narrator).run(also_namespace=False)
    await install_definitions(cluster.guarded, cluster.client)


async def _unless_ended(work: Coroutine[Any, Any, None], ending: Ending) -> None:
    """Do the work; it is cancelled, and _EndedError raised, when the demo has to end."""
    task, ends = asyncio.create_task(work), asyncio.create_task(ending.requested())
    try:
        await asyncio.wait((task, ends), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            task.cancel()
            await asyncio.wait([task])
            raise _EndedError
        task.result()
    finally:
        ends.cancel()


async def _clean_up(cluster: _Cluster, settings: UserClusterSettings, narrator: Narrator) -> None:
    narrator.remark(f"Everything that the demo created in context {settings.context} is being removed.")
    try:
        await cluster.clean_up(narrator).run()
    except DevclusterError:
        narrator.show("Try again", f"paramedic demo --context {settings.context} --clean-up")
        raise
    narrator.remark("It is removed.")


async def _play(cluster: _Cluster, settings: UserClusterSettings, narrator: Narrator, ending: Ending) -> int:
    names = node_names()
    narrator.remark(f"{SIMULATED_NODES} simulated Nodes join the cluster of context {settings.context}.")
    nodes = [part for name in names for part in ("--node", name)]
    module = ("devcluster.user_cluster.servers", "--kubeconfig", str(cluster.kubeconfig), *nodes)
    performance = Performance(
        rows=ROWS,
        constants={**CONSTANTS, "check": CHECK, "node_count": SIMULATED_NODES},
        longest=LONGEST,
        nodes=FIXTURES,
        kubectl_options=f"--context {settings.context}",
        stays="Everything keeps running until Ctrl-C, which removes it from the cluster.",
    )
    demo = DemoSettings(settings.directory, stay=settings.stay)
    async with dev_process(settings.directory, module, narrator.remark) as process:
        return await perform(performance, process, demo, narrator, ending)


def node_names() -> list[str]:
    """Names that no earlier demo used, so that nothing that waits for its Nodes concerns these."""
    run = secrets.token_hex(2)
    return [f"{PREFIX}{run}-{number}" for number in range(1, SIMULATED_NODES + 1)]


def _patient(row: Row) -> Row:
    """The row with the patience that a cluster with the usual settings needs."""
    if isinstance(row, DemoStep) and row.wait is actions.node_is_unknown:
        before = "Kubernetes waits for a heartbeat of {node.name}, here for most of a minute."
        return replace(row, before=before, within=SILENCE_NOTICED_WITHIN, advice=NO_NODE_CONTROLLER)
    return row


ROWS = tuple(map(_patient, NODE))
