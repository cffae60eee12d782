"""The scenario `node` as a sequence of waits; the texts are in narration.py."""

import time

from devcluster.demo import incident, narration
from devcluster.demo.environment import Environment
from devcluster.demo.facts import NodeSeen, Run
from devcluster.demo.hanging import hang
from devcluster.demo.incident import seen
from devcluster.demo.killing import worker_is_killed
from devcluster.demo.narrator import Narrator


async def play(environment: Environment, narrator: Narrator) -> None:
    """Play the scenario; raises DevclusterError if an expected event is missing."""
    node = await _everything_is_well(environment, narrator)
    hung = time.monotonic()
    run = await hang(environment, narrator, node.name, node)
    await worker_is_killed(environment, narrator)
    await _node_recovers(environment, narrator, node, run)
    narrator.print_success(narration.all_is_well(node.name, time.monotonic() - hung))


async def _everything_is_well(environment: Environment, narrator: Narrator) -> NodeSeen:
    fleet = await narrator.narrate(narration.fleet_is_healthy(), _healthy_fleet(environment))
    heading = narration.to_look_at("Look for yourself", stays=environment.stays)
    narrator.show(heading, environment.kubectl("get nodes,nodehealthchecks,powercycleremediations -A"))
    return fleet[len(fleet) // 2]


async def _healthy_fleet(environment: Environment) -> list[NodeSeen]:
    await seen(environment.wake_kubelets)
    await seen(environment.cluster.set_up)
    return await seen(environment.cluster.healthy_fleet)


async def _node_recovers(environment: Environment, narrator: Narrator, node: NodeSeen, run: Run) -> None:
    cluster = environment.cluster
    await narrator.narrate(narration.request_appears(node.name), seen(lambda: cluster.request_for(node.name)))
    await narrator.narrate(
        narration.node_reboots(node.name, node.boot_id), seen(lambda: cluster.new_boot(node))
    )
    await narrator.narrate(
        narration.node_is_ready(node.name), seen(lambda: cluster.ready_condition(node.name, "True"))
    )
    await narrator.narrate(narration.request_disappears(), seen(lambda: cluster.no_request_for(node.name)))
    await narrator.narrate(
        narration.workflow_ends(), seen(lambda: incident.outcome(environment.temporal, run))
    )
