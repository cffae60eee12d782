"""The scenario `cluster-api` as a sequence of waits; the texts are in the narration modules."""

import time

from devcluster.demo import cluster_api_narration, incident, narration
from devcluster.demo.environment import Environment
from devcluster.demo.facts import MachineSeen
from devcluster.demo.hanging import hang
from devcluster.demo.incident import seen
from devcluster.demo.narrator import Narrator


async def play(environment: Environment, narrator: Narrator) -> None:
    """Play the scenario; raises DevclusterError if an expected event is missing."""
    fleet = await _everything_is_well(environment, narrator)
    hung = time.monotonic()
    await _machine_is_replaced(environment, narrator, fleet)
    narrator.print_success(cluster_api_narration.all_is_well(time.monotonic() - hung))


async def _everything_is_well(environment: Environment, narrator: Narrator) -> list[MachineSeen]:
    fleet = await narrator.narrate(cluster_api_narration.fleet_is_healthy(), _healthy_fleet(environment))
    here = narration.to_look_at("The management cluster", stays=environment.stays)
    narrator.show(here, environment.kubectl("get cluster-api -A"))
    there = narration.to_look_at("The workload cluster", stays=environment.stays)
    narrator.show(there, environment.kubectl_of_workload("get nodes"))
    return fleet


async def _healthy_fleet(environment: Environment) -> list[MachineSeen]:
    await seen(environment.wake_kubelets)
    await seen(environment.cluster_api.set_up)
    return await seen(environment.cluster_api.healthy_machines)


async def _machine_is_replaced(
    environment: Environment, narrator: Narrator, fleet: list[MachineSeen]
) -> None:
    machine, machines = fleet[-1], environment.cluster_api
    run = await hang(environment, narrator, machine.node.name, machine)
    await narrator.narrate(
        cluster_api_narration.machine_is_marked(machine.name), seen(lambda: machines.mark_of(machine))
    )
    await narrator.narrate(
        cluster_api_narration.machine_is_gone(machine), seen(lambda: machines.end_of(machine))
    )
    await narrator.narrate(
        narration.workflow_ends(), seen(lambda: incident.outcome(environment.temporal, run))
    )
    await narrator.narrate(
        cluster_api_narration.replacement_is_healthy(), seen(lambda: machines.newcomer_to(fleet))
    )
