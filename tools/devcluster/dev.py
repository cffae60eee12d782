"""`paramedic dev`: runs a control plane, a Temporal server and our processes on one directory.

DIR/dev.json describes them; it exists while everything is ready. The demo in a cluster of the user runs the
same without a control plane.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from temporalio.client import Client as TemporalClient

from devcluster import assets, control_plane, manifests, processes, temporal
from devcluster.cluster_api_crds import NewestVersion
from devcluster.errors import OptionsError
from devcluster.files import write_json
from devcluster.layout import Layout, exclusive, lay_out, prepare
from devcluster.processes import OURS, ready_url
from devcluster.progress import print_progress
from devcluster.simulation.machine_api import GROUP
from devcluster.simulation.nodes import SELECTOR, boot_of, reported_boot, simulated_node
from devcluster.simulation.termination import run_until_terminated
from devcluster.supervisor import Supervisor
from devcluster.workload_cluster import start_workload_cluster
from health.kinds.registry import CHECK_KINDS
from health.policy.policy import KEY, POLICY, StoredPolicy
from kube.client import Client
from kube.connection import read_cluster_identity
from kube.errors import AlreadyExists
from kube.resource import CONFIG_MAPS, NODES
from kube.transport import Transport
from objects.address import Address
from runtime import search_attributes
from runtime.process_names import NAMESPACE
from runtime.settings import CHECK_KINDS_VARIABLE, CLUSTER_VARIABLE, NOTIFICATION_DIRECTORY_VARIABLE

RIGHTS = Path(__file__).parent / "rights"
"""Rights of our processes that only a development cluster grants."""
NODES_WITHIN, EACH_NODE_WITHIN = timedelta(seconds=60), timedelta(seconds=0.05)
CLUSTER_API_CRDS = "cluster-api-crds"
"""Leaves out the stand-in CRDs, for a real Cluster API with its managers."""


@dataclass(frozen=True, kw_only=True)
class DevSettings:
    """The settings of `paramedic dev`. Raises OptionsError for values that make no sense."""

    directory: Path
    """Data, logs, credentials and dev.json; existing data is reused."""
    simulate_nodes: int = 0
    """The number of simulated nodes at the start; with neither these nor Machines, no controller changes
    Nodes."""
    without: frozenset[str] = frozenset()
    """Parts to leave out: our processes, if they run by hand, and the stand-in CRDs of Cluster API."""
    machines: bool = False
    """Simulate the machine API of OpenShift."""
    cluster_api: NewestVersion | None = None
    """Run a workload cluster; the newest version that the management cluster serves, which may change between
    two runs on one directory."""
    provisioning: timedelta = timedelta(seconds=5)
    """How long a Machine waits for its simulated node."""
    back_off_limit: timedelta | None = None
    """The longest wait between two remediations of one target; None: that of the policy, or its default."""
    notification_directory: Path | None = None
    """The files with addresses of receivers; None: those of the default directory."""
    temporal: str | None = None
    """host:port of a Temporal that runs already; None: start one."""

    def __post_init__(self) -> None:
        if self.simulate_nodes < 0:
            raise OptionsError(f"--simulate-nodes needs a number of nodes, not {self.simulate_nodes}")
        if self.provisioning <= timedelta():
            raise OptionsError(f"Machines need time for their provisioning, not {self.provisioning}")
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


def _is_address(text: str) -> bool:
    try:
        return bool(Address.parse(text).host)
    except ValueError:
        return False


@dataclass(frozen=True)
class UserCluster:
    """A cluster that runs already and has all that our processes need."""

    kubeconfig: Path
    """With the rights of our processes and of the simulation, which has nodes alone."""
    variables: Mapping[str, str]
    """Of our processes; one is the name of the cluster."""


async def run(settings: DevSettings, user_cluster: UserCluster | None = None) -> None:
    """Run until SIGINT or SIGTERM, on the main thread; DIR/dev.json exists while everything is ready.

    Raises DevclusterError if a program is missing or does not become ready, and KubernetesError.
    """
    prepare(settings.directory)
    # May build for minutes; before the signal handlers, so that Ctrl-C ends it.
    cluster = user_cluster or assets.find()
    with exclusive(settings.directory):
        layout = lay_out(settings.directory)
        layout.description.unlink(missing_ok=True)
        try:
            await run_until_terminated(_serve(settings, layout, cluster))
        finally:
            layout.description.unlink(missing_ok=True)


async def _serve(settings: DevSettings, layout: Layout, cluster: assets.Servers | UserCluster) -> None:
    description: dict[str, object] = {}

    def describe() -> None:
        if description:
            write_json(layout.description, {**description, "pids": dict(supervisor.pids)})

    async with Supervisor(changed=describe) as supervisor:
        parts = "Temporal" if isinstance(cluster, UserCluster) else "Temporal and Kubernetes"
        print_progress(f"starting {parts} on {layout.directory}")
        if settings.temporal is None:
            server = await temporal.start(supervisor, layout)
        else:
            server = await temporal.attach(settings.temporal)
        temporal_client = await TemporalClient.connect(server.address, namespace=server.namespace)
        await search_attributes.register(temporal_client, server.namespace)

        # The cluster and its workload cluster.
        files: dict[str, object] = {}
        if isinstance(cluster, UserCluster):
            admin, kubeconfigs = cluster.kubeconfig, dict.fromkeys(OURS, cluster.kubeconfig)
            variables, simulates = cluster.variables, True
        else:
            simulates = settings.simulate_nodes > 0 or settings.machines
            grace = processes.grace(settings.simulate_nodes) if simulates else None
            own = await control_plane.start(supervisor, layout, cluster, node_grace=grace)
            admin, kubeconfigs = own.kubeconfig, {name: own.kubeconfig_of(name) for name in OURS}
            variables = settings.of_processes
            left_out = [manifests.CLUSTER_API_CRDS] if CLUSTER_API_CRDS in settings.without else []
            await manifests.install(admin, more=sorted(RIGHTS.glob("*.yaml")), without=left_out)
            files["audit_log"] = str(own.audit_log)
            if settings.cluster_api is not None:
                kubeconfig = await start_workload_cluster(
                    supervisor,
                    layout,
                    cluster,
                    admin,
                    newest=settings.cluster_api,
                    provisioning=settings.provisioning,
                )
                files["workload_kubeconfig"] = str(kubeconfig)

        # Our processes, and the simulated nodes.
        async with await Transport.connect(str(admin)) as transport:
            client = Client(transport)
            if settings.back_off_limit is not None:
                await write_back_off_limit(client, settings.back_off_limit)
            identity = await read_cluster_identity(client, variables.get(CLUSTER_VARIABLE, processes.CLUSTER))
            names = [name for name in OURS if name not in settings.without]
            for name in names:
                program = processes.ours(name, layout, kubeconfigs[name], server, variables)
                await supervisor.start(program)
            if simulates:
                await _start_simulation(settings, supervisor, layout, admin, client)
        for name in names:
            await processes.until_ready(supervisor, layout, name)
        supervisor.require_hope()
        description |= {
            "kubeconfig": str(admin),
            "temporal_address": server.address,
            "temporal_namespace": server.namespace,
            "temporal_ui": server.ui,
            "cluster": identity,
            "ready_urls": {name: ready_url(layout, name) for name in names},
            **files,
        }
        describe()
        print_progress(f"ready: {server.ui} and kubectl --kubeconfig {admin}; Ctrl-C ends it")
        await asyncio.Event().wait()


async def _start_simulation(
    settings: DevSettings, supervisor: Supervisor, layout: Layout, kubeconfig: Path, client: Client
) -> None:
    """Create the missing nodes; return when each that is switched on has reported its boot."""
    count = settings.simulate_nodes
    program = processes.simulation(
        layout,
        kubeconfig,
        renewal=processes.renewal(count),
        provisioning=settings.provisioning if settings.machines else None,
    )
    for number in range(1, count + 1):
        with suppress(AlreadyExists):
            await client.create(NODES, simulated_node(f"node-{number}"))
    await supervisor.start(program)

    async def have_reported() -> bool:
        nodes = await client.list(NODES, label_selector=SELECTOR)
        return all(boot_of(node) in (None, reported_boot(node)) for node in nodes)

    within = NODES_WITHIN + count * EACH_NODE_WITHIN
    sentence = f"not all simulated nodes report: see why in {program.log}"
    await supervisor.until(have_reported, within=within, otherwise=sentence)


async def write_back_off_limit(client: Client, limit: timedelta) -> None:
    """Create the policy with this limit alone.

    Raises:
        OptionsError: the cluster has another policy, which a person may have written.

    """
    text = f"backOffLimit: {limit.total_seconds():g}s\n"
    try:
        await client.create(CONFIG_MAPS, {"metadata": {"name": POLICY}, "data": {KEY: text}}, NAMESPACE)
    except AlreadyExists as error:
        found = StoredPolicy.model_validate(await client.get(CONFIG_MAPS, POLICY, NAMESPACE))
        if found.data != {KEY: text}:
            advice = f"write backOffLimit into its {KEY}, and leave the option out"
            raise OptionsError(f"--back-off-limit: {found} exists with another policy: {advice}") from error
