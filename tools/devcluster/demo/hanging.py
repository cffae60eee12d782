"""The failure that every scenario begins with: a node hangs, and its incident waits for the duration."""

from datetime import UTC, datetime

from devcluster.demo import incident, narration
from devcluster.demo.environment import Environment
from devcluster.demo.facts import MachineSeen, NodeSeen, Run
from devcluster.demo.incident import seen
from devcluster.demo.narrator import Narrator
from devcluster.simulation.control_socket import send_request


async def hang(
    environment: Environment, narrator: Narrator, node: str, target: NodeSeen | MachineSeen
) -> Run:
    """Stop the kubelet of `node`; return the run of the incident of `target`."""
    began = datetime.now(UTC)
    id_ = incident.workflow_id(environment.dev.cluster, target)
    await stop_kubelet(environment, narrator, node)
    run = await narrator.narrate(
        narration.workflow_starts(target.name),
        seen(lambda: incident.started(environment.temporal, id_, began)),
    )
    narrator.show(
        narration.to_look_at("Its page", stays=environment.stays), incident.page(environment.dev, run)
    )
    await narrator.narrate(narration.timer_runs(), seen(lambda: incident.state(environment.temporal, run)))
    return run


async def stop_kubelet(environment: Environment, narrator: Narrator, node: str) -> None:
    """Stop the kubelet of `node`, and wait until Kubernetes has noticed."""
    await narrator.narrate(narration.kubelet_stops(node), send_request(environment.kubelets, {"stop": node}))
    await narrator.narrate(
        narration.node_turns_unknown(node), seen(lambda: environment.cluster.ready_condition(node, "Unknown"))
    )
