"""The scenario `upgrade` as a sequence of waits; the texts are in the narration modules."""

from devcluster.demo import machine_narration, narration, upgrade_narration
from devcluster.demo.environment import Environment
from devcluster.demo.facts import MachineSeen
from devcluster.demo.fixtures import CHECK
from devcluster.demo.hanging import stop_kubelet
from devcluster.demo.incident import seen
from devcluster.demo.killing import worker_is_killed
from devcluster.demo.narrator import Narrator
from devcluster.demo.upgrade_fixtures import SPARE
from devcluster.demo.upgrade_view import pause_of, unpause_spare
from devcluster.simulation.control_socket import send_request


async def play(environment: Environment, narrator: Narrator) -> None:
    """Play the scenario; raises DevclusterError if an expected event is missing."""
    fleet = await _everything_is_well(environment, narrator)
    machine = fleet[-1]
    await _upgrade_begins(environment, narrator, machine)
    await _admin_unpauses(environment, narrator)
    await _upgrade_ends(environment, narrator, machine, fleet)
    narrator.print_success(upgrade_narration.all_is_well())


async def _everything_is_well(environment: Environment, narrator: Narrator) -> list[MachineSeen]:
    fleet = await narrator.narrate(machine_narration.fleet_is_healthy(), _healthy_fleet(environment))
    heading = narration.to_look_at("Look for yourself", stays=environment.stays)
    narrator.show(heading, environment.kubectl("get clusterversions,machinehealthchecks,machines -A -o yaml"))
    return fleet


async def _healthy_fleet(environment: Environment) -> list[MachineSeen]:
    await seen(environment.wake_kubelets)
    await seen(environment.upgrade.set_up)
    return await seen(environment.machines.healthy_machines)


async def _upgrade_begins(environment: Environment, narrator: Narrator, machine: MachineSeen) -> None:
    upgrade = environment.upgrade
    await seen(lambda: upgrade.set_progressing("True"))
    await narrator.narrate(upgrade_narration.checks_are_paused(), seen(lambda: upgrade.paused(CHECK, SPARE)))
    await stop_kubelet(environment, narrator, machine.node.name)
    await narrator.narrate(
        upgrade_narration.no_machine_is_remediated(machine), seen(lambda: upgrade.outlasted(machine))
    )


async def _admin_unpauses(environment: Environment, narrator: Narrator) -> None:
    order = unpause_spare(environment.temporal, environment.dev.cluster)
    await narrator.narrate(upgrade_narration.spare_is_unpaused(), order)
    await worker_is_killed(environment, narrator, upgrade_narration.worker_is_killed)
    await narrator.narrate(
        upgrade_narration.spare_stays_unpaused(), seen(lambda: environment.upgrade.paused(CHECK))
    )


async def _upgrade_ends(
    environment: Environment, narrator: Narrator, machine: MachineSeen, fleet: list[MachineSeen]
) -> None:
    """The kubelet starts after the end, so that the node is still away when its check is unpaused."""
    node = machine.node.name
    await seen(lambda: environment.upgrade.set_progressing("False"))
    await narrator.narrate(upgrade_narration.checks_are_unpaused(), seen(environment.upgrade.paused))
    await send_request(environment.kubelets, {"start": node})
    await narrator.narrate(
        upgrade_narration.node_has_its_time(node),
        seen(lambda: environment.cluster.ready_condition(node, "True")),
    )
    await narrator.narrate(
        upgrade_narration.pause_ends(), pause_of(environment.temporal, environment.dev.cluster)
    )
    await narrator.narrate(upgrade_narration.fleet_is_the_same(), seen(lambda: _same(environment, fleet)))


async def _same(environment: Environment, fleet: list[MachineSeen]) -> list[MachineSeen] | None:
    now = await environment.machines.healthy_machines() or []
    return now if {one.uid for one in now} == {one.uid for one in fleet} else None
