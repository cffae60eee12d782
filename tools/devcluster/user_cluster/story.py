"""`paramedic demo --context C`: plays the scenario `node` in a cluster of the user.

Simulated Nodes and the demo remediator join the cluster; Temporal, the detector and the worker run on this
machine. In the end everything is removed, also after Ctrl-C and after a failure. The next start removes the
rest of a killed demo.
"""

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from devcluster import layout
from devcluster.demo.narrator import Narrator
from devcluster.demo.process import Ending, PipeConsole, dev_process
from devcluster.demo.scenarios import node
from devcluster.demo.stage import PlayOptions
from devcluster.demo.story import FAILURE, SUCCESS, perform
from devcluster.errors import DevclusterError
from devcluster.user_cluster.cluster import (
    FIXTURES,
    SIMULATED_NODES,
    RefusedError,
    keeping_turn,
    refuse,
    remove_everything,
    require_silence,
    set_up,
    write_kubeconfig,
)
from kube.client import Client
from kube.errors import KubernetesError
from kube.transport import Transport

NO_NODE_CONTROLLER = (
    "Probably the cluster runs no node-lifecycle controller, the part of kube-controller-manager that marks "
    "silent Nodes: start it, or take a cluster of kind or minikube. `paramedic dev` runs it only with "
    "--simulate-nodes."
)
FIELD_MANAGER = "paramedic-demo"


@dataclass(frozen=True, kw_only=True)
class UserClusterSettings:
    """The cluster of the demo, and what it does there."""

    directory: Path
    """Data and logs of the servers on this machine."""
    context: str
    """The context in the kubeconfig of the user."""
    stay: bool = False
    clean_up_only: bool = False
    """Only remove what a killed demo left."""


async def run(settings: UserClusterSettings) -> int:
    """Play the demo, or only clean up; the exit code of the process, 0 on success.

    Must run on the main thread: SIGINT and SIGTERM end it, and the clean-up follows. Raises OptionsError,
    RefusedError and NotConfigured, before anything is changed.
    """
    layout.prepare(settings.directory)
    ending = Ending()
    ending.listen_to_signals()
    narrator = Narrator(PipeConsole(ending))
    connecting = await Transport.connect(context=settings.context, user_agent=FIELD_MANAGER)
    async with connecting as transport:
        try:
            return await ending.unless_requested(_run(transport, settings, narrator))
        except RefusedError:
            raise
        except (DevclusterError, KubernetesError, TimeoutError) as error:
            narrator.print_failure(str(error) or "The cluster did not answer in time.")
            if (logs := settings.directory / "logs").exists():
                narrator.show("Logs", str(logs))
            return FAILURE


async def _run(transport: Transport, settings: UserClusterSettings, narrator: Narrator) -> int:
    client, context = Client(transport, FIELD_MANAGER), settings.context
    kubeconfig = settings.directory / "demo.kubeconfig"
    if not settings.clean_up_only:
        await refuse(transport, context)
    await require_silence(client)
    await remove_everything(client, narrator.remark)  # the rest of a killed demo
    if settings.clean_up_only:
        narrator.remark(f"What a demo created in context {context} is removed.")
        return SUCCESS
    options = PlayOptions(
        nodes=FIXTURES,
        silence="Kubernetes waits for a heartbeat of {node}, here for most of a minute.",
        # Kubernetes notices a silent kubelet after 40 to 50 s, clusters of some providers later.
        silence_noticed_within=timedelta(seconds=150),
        advice=NO_NODE_CONTROLLER,
        longest=timedelta(seconds=330),
        kubectl_options=f"--context {context}",
        stay=settings.stay,
        stays="Everything keeps running until Ctrl-C, which removes it from the cluster.",
    )
    module = ("devcluster.user_cluster", "--kubeconfig", str(kubeconfig))
    async with keeping_turn(client):
        try:
            narrator.remark(f"{len(SIMULATED_NODES)} simulated Nodes join the cluster of context {context}.")
            await set_up(transport)
            await write_kubeconfig(transport, context, kubeconfig)
            async with dev_process(settings.directory, module, narrator.remark) as process:
                return await perform(node, process, options, narrator)
        finally:
            kubeconfig.unlink(missing_ok=True)
            narrator.remark(f"Everything that the demo created in context {context} is being removed.")
            try:
                await remove_everything(client, narrator.remark)
            except DevclusterError:
                narrator.show("Try again", f"paramedic demo --context {context} --clean-up")
                raise
            narrator.remark("It is removed.")
