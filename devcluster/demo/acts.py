"""The story of a node in four acts. What is waited for, and in which order; the words are in narration.py."""

import os
import signal
import time

from devcluster.demo import incident, narration
from devcluster.demo.facts import NodeSeen, Run
from devcluster.demo.hanging import hang
from devcluster.demo.incident import seen
from devcluster.demo.narrator import Narrator
from devcluster.demo.stage import Stage


async def play(stage: Stage, narrator: Narrator) -> None:
    """Tell the whole story; raises DevclusterError with what did not happen."""
    node = await _everything_is_well(stage, narrator)
    hung = time.monotonic()
    run = await hang(stage, narrator, node.name, node)
    await _worker_is_killed(stage, narrator)
    await _node_recovers(stage, narrator, node, run)
    narrator.praise(narration.all_is_well(node.name, time.monotonic() - hung))


async def _everything_is_well(stage: Stage, narrator: Narrator) -> NodeSeen:
    fleet = await narrator.tell(narration.fleet_is_healthy(), _healthy_fleet(stage))
    heading = narration.to_look_at("Look for yourself", stays=stage.stays)
    narrator.show(heading, stage.kubectl("get nodes,nodehealthchecks,powercycleremediations -A"))
    return fleet[len(fleet) // 2]


async def _healthy_fleet(stage: Stage) -> list[NodeSeen]:
    await seen(stage.wake_kubelets)
    await seen(stage.cluster.set_up)
    return await seen(stage.cluster.healthy_fleet)


async def _worker_is_killed(stage: Stage, narrator: Narrator) -> None:
    pid = stage.worker()
    await narrator.tell(narration.worker_is_killed(pid), _kill(pid))
    await narrator.tell(narration.worker_is_back(pid), seen(lambda: stage.other_worker(pid)))


async def _node_recovers(stage: Stage, narrator: Narrator, node: NodeSeen, run: Run) -> None:
    cluster = stage.cluster
    await narrator.tell(narration.request_appears(node.name), seen(lambda: cluster.request_for(node.name)))
    await narrator.tell(narration.node_reboots(node.name, node.boot_id), seen(lambda: cluster.new_boot(node)))
    await narrator.tell(
        narration.node_is_ready(node.name), seen(lambda: cluster.ready_condition(node.name, "True"))
    )
    await narrator.tell(narration.request_disappears(), seen(lambda: cluster.no_request_for(node.name)))
    await narrator.tell(narration.workflow_ends(), seen(lambda: incident.outcome(stage.temporal, run)))


async def _kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
