"""The stage of one scenario: the clients of its servers, and what its rows have seen; and the kinds of rows.

The texts of rows are format strings. They may name the constants, what the stage knows, and as `it` the value
that the row waited for.
"""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from temporalio.client import Client as TemporalClient
from temporalio.contrib.pydantic import pydantic_data_converter

from devcluster.demo import fixtures
from devcluster.demo.cluster_view import ClusterApiView, ClusterView, OpenShiftView
from devcluster.demo.dev_description import DevDescription
from devcluster.demo.dev_process import DevProcess
from devcluster.demo.facts import MachineSeen, NodeSeen, Run
from devcluster.demo.fixtures import OWN_CLUSTER, NodeFixtures
from devcluster.demo.settings import DemoSettings
from devcluster.demo.upgrade_view import TIMEOUT_SECONDS, SimulatedUpgrade
from devcluster.dev_cluster_api import CLUSTER
from devcluster.errors import DemoFailedError
from devcluster.programs import kubectl
from devcluster.simulation.resources import TEMPLATES
from kube.client import Client
from kube.transport import Transport


@dataclass(frozen=True, kw_only=True)
class Environment:
    """A running devcluster and the clients connected to it."""

    process: DevProcess
    dev: DevDescription
    """The description from the start of the scenario."""
    cluster: ClusterView
    """The cluster of the nodes."""
    machines: OpenShiftView
    cluster_api: ClusterApiView
    upgrade: SimulatedUpgrade
    temporal: TemporalClient
    stays: bool
    """True if everything keeps running after the scenario."""
    nodes: NodeFixtures = OWN_CLUSTER
    kubectl_options: str | None = None
    """The options of kubectl for this cluster; None selects the kubeconfig of the description."""

    def worker(self) -> int:
        """The pid of the present worker; raises DemoFailedError if none runs."""
        pid = self._pid()
        if pid is None:
            raise DemoFailedError("No worker runs.")
        return pid

    async def other_worker(self, than: int) -> int | None:
        """The pid of the worker, once it is not `than`."""
        pid = self._pid()
        return pid if pid != than else None

    def kubectl(self, arguments: str) -> str:
        """A command line for this cluster, for a person to copy."""
        options = self.kubectl_options or f"--kubeconfig {self.dev.kubeconfig}"
        return f"{kubectl()} {options} {arguments}"

    def kubectl_of_workload(self, arguments: str) -> str:
        return f"{kubectl()} --kubeconfig {self.dev.workload_kubeconfig} {arguments}"

    def _pid(self) -> int | None:
        now = self.process.describe()
        return now.pids.get("worker") if now else None


@asynccontextmanager
async def environment(
    process: DevProcess,
    settings: DemoSettings,
    nodes: NodeFixtures = OWN_CLUSTER,
    kubectl_options: str | None = None,
) -> AsyncIterator[Environment]:
    """Connect to a devcluster as soon as it is ready."""
    dev = await process.ready()
    temporal = await _connect_to_temporal(dev)
    workload = dev.workload_kubeconfig
    async with AsyncExitStack() as stack:

        async def connected(kubeconfig: Path) -> Client:
            transport = await stack.enter_async_context(await Transport.connect(str(kubeconfig)))
            return Client(transport, "paramedic-demo")

        client = await connected(dev.kubeconfig)
        cluster = ClusterView(await connected(workload) if workload else client, nodes)
        machines, of_cluster_api = OpenShiftView(client, cluster), ClusterApiView(client, cluster)
        upgrade = SimulatedUpgrade(client, machines, cluster)
        yield Environment(
            process=process,
            dev=dev,
            cluster=cluster,
            machines=machines,
            cluster_api=of_cluster_api,
            upgrade=upgrade,
            temporal=temporal,
            stays=settings.stay,
            nodes=nodes,
            kubectl_options=kubectl_options,
        )


async def _connect_to_temporal(dev: DevDescription) -> TemporalClient:
    try:
        return await TemporalClient.connect(
            dev.temporal_address,
            namespace=dev.temporal_namespace,
            data_converter=pydantic_data_converter,
        )
    except RuntimeError as error:  # the SDK raises it if it cannot connect
        raise DemoFailedError(f"Temporal at {dev.temporal_address} does not answer: {error}") from error


CONSTANTS = {
    "check": fixtures.CHECK,
    "node_count": fixtures.NODES,
    "machine_count": fixtures.MACHINES,
    "condition_seconds": fixtures.CONDITION_SECONDS,
    "power_off_seconds": fixtures.POWER_OFF_SECONDS,
    "provisioning_seconds": fixtures.PROVISIONING_SECONDS,
    "template_kind": TEMPLATES.kind,
    "spare": fixtures.SPARE,
    "timeout_seconds": TIMEOUT_SECONDS,
    "workload": CLUSTER,
}


class Stage:
    """The attributes are set by the rows before those that use them."""

    fleet: Sequence[NodeSeen | MachineSeen]
    """All targets, before the first failure."""
    target: NodeSeen | MachineSeen
    """The target that fails."""
    node: NodeSeen
    """The node of the target."""
    failed_at: datetime
    run: Run
    """The run of the incident of the target."""
    pid: int
    """The process of the worker that is killed."""

    def __init__(self, environment: Environment, constants: Mapping[str, object] = CONSTANTS) -> None:
        self.environment = environment
        self._constants = constants
        self._began: float | None = None

    @property
    def machine(self) -> MachineSeen:
        """The target, in a scenario of Machines."""
        assert isinstance(self.target, MachineSeen)  # nodes have scenarios of their own
        return self.target

    def aim_at(self, target: NodeSeen | MachineSeen) -> None:
        self.target = target
        self.node = target.node if isinstance(target, MachineSeen) else target
        self.failed_at = datetime.now(UTC)
        self._began = self._began or time.monotonic()

    def words(self, text: str, it: object = None) -> str:
        """The text with the values of the constants and of the stage."""
        elapsed = 0.0 if self._began is None else time.monotonic() - self._began
        return text.format(**self._constants, **vars(self), elapsed=elapsed, it=it)


SOON = timedelta(seconds=30)
LATER = timedelta(seconds=60)


@dataclass(frozen=True, kw_only=True)
class DemoStep:
    """One wait, and the texts before and after it."""

    before: str
    wait: Callable[[Stage], Awaitable[Any]]
    """Returns the value that `after` quotes as `it`."""
    after: str
    failure: str
    """A sentence that the narrator completes with `within 30 s.`"""
    within: timedelta = SOON
    advice: str = ""
    """The likely cause of the failure and what to do, in whole sentences."""


@dataclass(frozen=True)
class Do:
    """A change that the demo makes without a text."""

    act: Callable[[Stage], Awaitable[object]]


@dataclass(frozen=True)
class Show:
    """An address or a command to copy, which works while everything runs."""

    heading: str
    text: Callable[[Stage], str]


@dataclass(frozen=True)
class Success:
    """The last sentence; `elapsed` is the time since the first failure, in seconds."""

    text: str


Row = DemoStep | Do | Show | Success
