"""`paramedic dev`: runs a control plane, a Temporal server and our processes on one directory.

DIR/dev.json describes them; it exists while everything is ready.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from temporalio.client import Client as TemporalClient

from devcluster import assets, control_plane, dev_cluster_api, manifests, processes, temporal
from devcluster.control_plane import ControlPlane
from devcluster.dev_cluster_api import ClusterApiSettings
from devcluster.errors import OptionsError
from devcluster.files import write_json
from devcluster.layout import Layout, exclusive, lay_out, prepare
from devcluster.processes import OURS, ready_url
from devcluster.progress import print_progress
from devcluster.simulation.machine_api import GROUP
from devcluster.simulation.nodes import SELECTOR, boot_of, reported_boot, simulated_node
from devcluster.simulation.termination import run_until_terminated
from devcluster.supervisor import Supervisor
from devcluster.temporal import TemporalServer
from health.kinds.registry import CHECK_KINDS
from health.policy.policy import KEY, POLICY, StoredPolicy
from kube.client import Client
from kube.errors import AlreadyExists
from kube.resource import CONFIG_MAPS, NAMESPACES, NODES
from kube.transport import Transport
from objects.address import Address
from objects.clusters import cluster_identity
from runtime import search_attributes
from runtime.process_names import NAMESPACE
from runtime.settings import CHECK_KINDS_VARIABLE, NOTIFICATION_DIRECTORY_VARIABLE

RIGHTS = Path(__file__).parent / "rights"
"""Rights of our processes that only a development cluster grants."""


NODES_WITHIN, EACH_NODE_WITHIN = timedelta(seconds=60), timedelta(seconds=0.05)
CLUSTER_API_CRDS = "cluster-api-crds"
"""Leaves out the stand-in CRDs, for a real Cluster API with its managers."""


@dataclass(frozen=True, kw_only=True)
class Description:
    """The addresses and files that stay the same while `paramedic dev` runs."""

    layout: Layout
    control_plane: ControlPlane
    temporal: TemporalServer
    cluster: str
    """The identity of the cluster, as in workflow ids."""
    workload: ControlPlane | None = None
    """The workload cluster of Cluster API, if there is one."""

    def write(self, pids: Mapping[str, int]) -> None:
        """Write the file with the present pids."""
        names = [name for name in ("detector", "worker") if name in pids]
        content = {
            "kubeconfig": str(self.control_plane.kubeconfig),
            "temporal_address": self.temporal.address,
            "temporal_namespace": self.temporal.namespace,
            "temporal_ui": self.temporal.ui,
            "cluster": self.cluster,
            "pids": dict(pids),
            "audit_log": str(self.control_plane.audit_log),
            "ready_urls": {name: ready_url(self.layout, name) for name in names},
        }
        if self.workload is not None:
            content["workload_kubeconfig"] = str(self.workload.kubeconfig)
        write_json(self.layout.description, content)


@dataclass(frozen=True, kw_only=True)
class DevSettings:
    """The settings of `paramedic dev`. Raises SettingsError for values that make no sense."""

    directory: Path
    """Data, logs, credentials and dev.json; existing data is reused."""
    simulate_nodes: int = 0
    """The number of simulated nodes at the start; with neither these nor Machines, no controller changes
    Nodes."""
    without: frozenset[str] = frozenset()
    """Parts to leave out: our processes, if they run by hand, and the stand-in CRDs of Cluster API."""
    machine_provisioning: timedelta | None = None
    """How long a Machine of OpenShift waits for its simulated node; None: no machine API is simulated."""
    back_off_limit: timedelta | None = None
    """The longest wait between two remediations of one target; None: that of the policy, or its default."""
    notification_directory: Path | None = None
    """The files with addresses of receivers; None: those of the default directory."""
    cluster_api: ClusterApiSettings | None = None
    """The settings of the workload cluster; None: there is none."""
    temporal: str | None = None
    """host:port of a Temporal that runs already; None: start one."""

    def __post_init__(self) -> None:
        if self.simulate_nodes < 0:
            raise OptionsError(f"--simulate-nodes needs a number of nodes, not {self.simulate_nodes}")
        if self.machine_provisioning is not None and self.machine_provisioning <= timedelta():
            raise OptionsError(f"Machines need time for their provisioning, not {self.machine_provisioning}")
        if self.temporal is not None and not _is_address(self.temporal):
            raise OptionsError(f"--temporal needs the host:port of a Temporal, not {self.temporal!r}")
        if unknown := self.without - {*OURS, CLUSTER_API_CRDS}:
            parts, others = ", ".join((*OURS, CLUSTER_API_CRDS)), ", ".join(sorted(unknown))
            raise OptionsError(f"--without knows {parts}; not {others}")
        if self.cluster_api is not None and CLUSTER_API_CRDS in self.without:
            raise OptionsError(f"--cluster-api needs what --without {CLUSTER_API_CRDS} leaves out")

    @property
    def of_processes(self) -> Mapping[str, str]:
        """The variables that both of our processes get beside their own."""
        variables = {}
        if self.notification_directory is not None:
            variables[NOTIFICATION_DIRECTORY_VARIABLE] = str(self.notification_directory.absolute())
        if CLUSTER_API_CRDS in self.without:  # the detector is ready once it has read each of its kinds
            kinds = (kind for kind in CHECK_KINDS.values() if kind.group != GROUP)
            variables[CHECK_KINDS_VARIABLE] = ",".join(kind.resource_name for kind in kinds)
        return variables

    @property
    def simulates(self) -> bool:
        """True if there are simulated nodes, at the start or for Machines."""
        return self.simulate_nodes > 0 or self.machine_provisioning is not None


def _is_address(text: str) -> bool:
    try:
        return bool(Address.parse(text).host)
    except ValueError:
        return False


async def run(settings: DevSettings) -> None:
    """Run until SIGINT or SIGTERM, on the main thread; DIR/dev.json exists while everything is ready.

    Raises DevclusterError if a program is missing or does not become ready.
    """
    prepare(settings.directory)
    servers = assets.find()  # may build for minutes; before the signal handlers, so that Ctrl-C ends it
    with exclusive(settings.directory):
        layout = lay_out(settings.directory)
        layout.description.unlink(missing_ok=True)
        try:
            await run_until_terminated(_Dev(settings, layout, servers).run())
        finally:
            layout.description.unlink(missing_ok=True)


class _Dev:
    def __init__(self, settings: DevSettings, layout: Layout, servers: assets.Servers) -> None:
        self._settings = settings
        self._layout = layout
        self._servers = servers
        self._supervisor = Supervisor(changed=self._describe)
        self._description: Description | None = None

    async def run(self) -> None:
        async with self._supervisor:
            print_progress(f"starting Temporal and Kubernetes on {self._layout.directory}")
            address = self._settings.temporal
            if address is None:
                server = await temporal.start(self._supervisor, self._layout)
            else:
                server = await temporal.attach(address)
            cluster = await self._start_control_plane()
            identity = await _prepare(cluster, server, self._settings)
            workload = await self._start_workload_cluster(cluster)
            await self._start_processes(cluster, server)
            self._supervisor.require_hope()
            self._description = Description(
                layout=self._layout,
                control_plane=cluster,
                temporal=server,
                cluster=identity,
                workload=workload,
            )
            self._describe()
            print_progress(
                f"ready: {server.ui} and kubectl --kubeconfig {cluster.kubeconfig}; Ctrl-C ends it"
            )
            await asyncio.Event().wait()

    def _describe(self) -> None:
        if self._description:
            self._description.write(self._supervisor.pids)

    async def _start_control_plane(self) -> ControlPlane:
        settings = self._settings
        grace = processes.grace(settings.simulate_nodes) if settings.simulates else None
        return await control_plane.start(self._supervisor, self._layout, self._servers, node_grace=grace)

    async def _start_workload_cluster(self, management: ControlPlane) -> ControlPlane | None:
        settings = self._settings.cluster_api
        if settings is None:
            return None
        workload = await dev_cluster_api.start_workload_cluster(
            self._supervisor, self._layout, self._servers, management, settings.newest
        )
        program = processes.simulation(
            workload.layout,
            workload.control_plane.kubeconfig,
            renewal=processes.renewal(0),
            provisioning=settings.provisioning,
            management=management.kubeconfig,
        )
        await self._supervisor.start(program)
        return workload.control_plane

    async def _start_processes(self, cluster: ControlPlane, server: TemporalServer) -> None:
        names = [name for name in OURS if name not in self._settings.without]
        for name in names:
            await self._supervisor.start(
                processes.ours(name, self._layout, cluster, server, self._settings.of_processes)
            )
        if self._settings.simulates:
            await self._start_simulation(cluster)
        for name in names:
            await processes.until_ready(self._supervisor, self._layout, name)

    async def _start_simulation(self, cluster: ControlPlane) -> None:
        """Create the missing nodes; return when each that is switched on has reported its boot."""
        layout, count = self._layout, self._settings.simulate_nodes
        program = processes.simulation(
            layout,
            cluster.kubeconfig,
            renewal=processes.renewal(count),
            provisioning=self._settings.machine_provisioning,
        )
        async with await Transport.connect(str(cluster.kubeconfig)) as transport:
            client = Client(transport)
            for number in range(1, count + 1):
                with suppress(AlreadyExists):
                    await client.create(NODES, simulated_node(f"node-{number}"))
            await self._supervisor.start(program)

            async def have_reported() -> bool:
                nodes = await client.list(NODES, label_selector=SELECTOR)
                return all(boot_of(node) in (None, reported_boot(node)) for node in nodes)

            within = NODES_WITHIN + count * EACH_NODE_WITHIN
            sentence = f"not all simulated nodes report: see why in {program.log}"
            await self._supervisor.until(have_reported, within=within, otherwise=sentence)


async def _prepare(cluster: ControlPlane, server: TemporalServer, settings: DevSettings) -> str:
    """Install what our processes need in both servers; return the identity of the cluster."""
    left_out = [manifests.CLUSTER_API_CRDS] if CLUSTER_API_CRDS in settings.without else []
    await manifests.install(cluster.kubeconfig, more=sorted(RIGHTS.glob("*.yaml")), without=left_out)
    temporal_client = await TemporalClient.connect(server.address, namespace=server.namespace)
    await search_attributes.register(temporal_client, server.namespace)
    async with await Transport.connect(str(cluster.kubeconfig)) as transport:
        client = Client(transport)
        if settings.back_off_limit is not None:
            await write_back_off_limit(client, settings.back_off_limit)
        namespace = await client.get(NAMESPACES, "kube-system")
    uid: str = namespace["metadata"]["uid"]
    return cluster_identity(processes.CLUSTER, uid)


async def write_back_off_limit(client: Client, limit: timedelta) -> None:
    """Create the policy with this limit alone.

    Raises:
        SettingsError: the cluster has another policy, which a person may have written.

    """
    text = f"backOffLimit: {limit.total_seconds():g}s\n"
    try:
        await client.create(CONFIG_MAPS, {"metadata": {"name": POLICY}, "data": {KEY: text}}, NAMESPACE)
    except AlreadyExists as error:
        found = StoredPolicy.model_validate(await client.get(CONFIG_MAPS, POLICY, NAMESPACE))
        if found.data != {KEY: text}:
            advice = f"write backOffLimit into its {KEY}, and leave the option out"
            raise OptionsError(f"--back-off-limit: {found} exists with another policy: {advice}") from error
