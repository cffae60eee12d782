"""The scenario `machine`: one Machine is replaced, then the node of another one is power-cycled.

This module only waits; the texts are in narration.py and machine_narration.py.
"""

import time

from devcluster.demo import incident, machine_narration, narration
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
    await narrator.narrate(machine_narration.template_is_named(), seen(environment.machines.name_template))
    await _node_is_power_cycled(environment, narrator, fleet[0])
    narrator.print_success(machine_narration.all_is_well(time.monotonic() - hung))


async def _everything_is_well(environment: Environment, narrator: Narrator) -> list[MachineSeen]:
    fleet = await narrator.narrate(machine_narration.fleet_is_healthy(), _healthy_fleet(environment))
    heading = narration.to_look_at("Look for yourself", stays=environment.stays)
    kinds = "machinesets,machines,machinehealthchecks,nodes,powercycleremediations"
    narrator.show(heading, environment.kubectl(f"get {kinds} -A"))
    return fleet


async def _healthy_fleet(environment: Environment) -> list[MachineSeen]:
    await seen(environment.wake_kubelets)
    await seen(environment.machines.set_up)
    return await seen(environment.machines.healthy_machines)


async def _machine_is_replaced(
    environment: Environment, narrator: Narrator, fleet: list[MachineSeen]
) -> None:
    machine, machines = fleet[-1], environment.machines
    run = await hang(environment, narrator, machine.node.name, machine)
    await narrator.narrate(
        machine_narration.machine_is_deleted(machine.name), seen(lambda: machines.deletion_of(machine))
    )
    await narrator.narrate(machine_narration.machine_is_gone(machine), seen(lambda: machines.end_of(machine)))
    await narrator.narrate(
        narration.workflow_ends(), seen(lambda: incident.outcome(environment.temporal, run))
    )
    await narrator.narrate(
        machine_narration.replacement_is_healthy(), seen(lambda: machines.newcomer_to(fleet))
    )


async def _node_is_power_cycled(environment: Environment, narrator: Narrator, machine: MachineSeen) -> None:
    """`machine` is an original one: back-off would delay the step for a replacement by a minute."""
    node, machines = machine.node, environment.machines
    run = await hang(environment, narrator, node.name, machine)
    await narrator.narrate(
        narration.request_appears(machine.name), seen(lambda: machines.request_for(machine))
    )
    await narrator.narrate(
        narration.node_reboots(node.name, node.boot_id), seen(lambda: environment.cluster.new_boot(node))
    )
    await narrator.narrate(
        narration.node_is_ready(node.name),
        seen(lambda: environment.cluster.ready_condition(node.name, "True")),
    )
    await narrator.narrate(narration.request_disappears(), seen(lambda: machines.no_request_for(machine)))
    await narrator.narrate(
        narration.workflow_ends(), seen(lambda: incident.outcome(environment.temporal, run))
    )
