"""Kills each process in each phase of an incident; the facts alone decide on the request afterwards.

The same from the start of one upgrade to the end of the next: each check is paused once in each upgrade.
"""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from devcluster.control_plane import ControlPlane
from health.check.annotated_hold import PAUSED
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from health.upgrade.decision import CheckPauseState
from runtime.paramedic_status import ConditionType
from tests.end_to_end.restarts.crew import Crew
from tests.end_to_end.restarts.incidents import Incidents
from tests.end_to_end.restarts.upgrade import MARK, NOBODY, Upgrade
from tests.support.cluster.own_servers import API_SERVER, TEMPORAL
from tests.support.story.machines import Machines
from tests.support.story.openshift import OpenShift, openshift_of
from tests.support.story.other_kind import OtherKind
from tests.support.story.upgrading import states
from tests.support.story.world import World
from tests.support.values.metric_samples import series

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

TO_BEGIN = timedelta(seconds=20)
"""How long a busy machine may need to bring all incidents into their phases and to kill the processes."""
ALONE = timedelta(seconds=4)
TO_START = timedelta(seconds=20)
UNTIL_THE_CORE_GIVES_UP = timedelta(seconds=20)
"""A worker of the SDK whose first call fails exits after 10 to 19 s."""

WELL = dict.fromkeys(map(str, ConditionType), "True")
WITHOUT_TEMPORAL = WELL | {"TemporalReachable": "False", "WorkerAvailable": "Unknown"}
REACHABLE, POLLING = series("paramedic_temporal_reachable"), series("paramedic_workers_polling")


@pytest.fixture
async def openshift(control_plane: ControlPlane) -> AsyncIterator[OpenShift]:
    """A ClusterVersion that does not progress; requested before the world, which is removed first."""
    async with openshift_of(control_plane) as made:
        await made.serve_cluster_versions()
        await made.set_progressing("False")
        yield made


@pytest.fixture
async def machines(openshift: OpenShift, world: World) -> AsyncIterator[Machines]:  # noqa: ARG001  it goes last
    world.patience = timedelta(seconds=90)
    made = Machines(world)
    await made.make()
    yield made
    await made.remove()


@pytest.mark.rule("NHC 2.7/restart", "NHC 2.4/6/kept", "rule 1", "rule 15", "rule 40/exhausted")
async def test_incidents_in_every_phase_go_on_when_processes_that_were_killed_are_started_again(
    world: World, control_plane: ControlPlane, crew: Crew, second_kind: OtherKind, tmp_path: Path
) -> None:
    """The worker dies, then the detector; facts change while neither runs, and each runs alone for a time."""
    incidents = Incidents(world, crew, control_plane.audit_log, second_kind)
    await crew.start()
    async with incidents.begun(tmp_path, TO_BEGIN, TO_BEGIN + ALONE + TO_START) as create:
        await crew.worker.kill()
        await incidents.until_run_out()
        await crew.detector.kill()
        await incidents.change(create)
        await crew.worker.start_ready()
        await asyncio.sleep(ALONE.total_seconds())
        await crew.detector.start_ready()
        await incidents.must_have_gone_on()
    await incidents.must_end_clean()


async def test_detectors_that_take_the_lead_or_start_without_temporal_tell_the_truth_and_go_on_with_it(
    world: World, crew: Crew
) -> None:
    """`kubectl get` shows which part is missing, and each process that still runs can report it."""
    world.patience = timedelta(seconds=90)
    await crew.start()
    await crew.standby.start_ready()
    node, _ = await world.add_nodes(2)
    await world.add_check()
    await world.until_status(healthyNodes=2)
    await world.until(lambda: crew.says(**WELL), "the status does not say that all is well")

    await crew.servers.kill(TEMPORAL)
    await crew.detector.kill()
    await world.fail(node)
    await world.until_status(healthyNodes=1)
    assert await crew.leader() == "standby-of-the-tests"
    await asyncio.sleep(UNTIL_THE_CORE_GIVES_UP.total_seconds())
    await world.until(lambda: crew.says(**WITHOUT_TEMPORAL), "the status does not say that Temporal is away")
    assert (await crew.standby.metrics())[REACHABLE] == 0
    await crew.standby.kill()
    await world.until(
        lambda: crew.says(DetectorLeading="False"), "the status does not say that no detector leads"
    )
    await crew.detector.start()
    await world.recover(node)
    await world.until_status(healthyNodes=2)
    await world.fail(node)
    await crew.servers.start_temporal()

    await world.until_requested(node)
    await crew.detector.ready()
    await world.until(lambda: crew.says(**WELL), "the status does not say that all is well again")
    assert (await crew.detector.metrics())[POLLING] == 1
    crew.nobody_must_have_died()
    assert world.requests.created(node) == 1


@pytest.mark.rule(
    "MHC C.2/begin",
    "MHC C.2/found paused",
    "MHC C.2/created",
    "MHC C.2/unpaused",
    "MHC C.2/end",
    "MHC C.2/restart",
    "MHC C.2/end over which nothing ran",
    "MHC C.2/end and begin over which nothing ran",
    "rule 34",
    "rule 35",
    "rule 46",
)
async def test_checks_are_paused_once_in_each_upgrade_and_unpaused_whatever_dies_and_whenever(
    machines: Machines, openshift: OpenShift, crew: Crew, control_plane: ControlPlane
) -> None:
    upgrade = Upgrade(machines.world, control_plane.audit_log)
    crew.detector.environment["PARAMEDIC_CHECK_KINDS"] = MACHINE_HEALTH_CHECK.resource_name
    (machine,) = await machines.add("hangs")
    ours = await machines.add_check()
    anothers = await machines.add_check("anothers", {PAUSED: "by hand"}, selector=NOBODY)
    await crew.start()

    await crew.servers.kill(TEMPORAL)
    await openshift.set_progressing("True")
    await crew.servers.start_temporal()
    await upgrade.until_annotated(ours, PAUSED, MARK)

    await crew.servers.kill(API_SERVER)
    await crew.servers.start_api_server()
    later = await machines.add_check("later", selector=NOBODY)
    await upgrade.until_annotated(later, PAUSED, MARK)

    await _both_die(crew)
    await ours.unpause()
    await machines.world.fail(machine)
    await crew.start()
    await machines.until_going(machine)

    await upgrade.workflow.terminate("by mistake")
    latest = await machines.add_check("latest", selector=NOBODY)
    await upgrade.until_annotated(latest, PAUSED, MARK)
    await upgrade.until_annotated(ours, MARK)

    await _both_die(crew)
    await openshift.set_progressing("False")
    began = await openshift.set_progressing("True")
    await crew.start()
    await upgrade.until_annotated(ours, PAUSED, MARK)

    await crew.worker.kill()
    await openshift.set_progressing("False")
    await crew.servers.kill(TEMPORAL)
    await crew.servers.start_temporal()
    await crew.worker.start_ready()
    for check in (ours, later, latest):
        await upgrade.until_annotated(check)
    await upgrade.until_annotated(anothers, PAUSED)
    result = await upgrade.result()

    assert result.memory.upgrade is not None
    assert result.memory.upgrade.since == began
    assert states(result) == {
        "anothers": CheckPauseState.FOUND_PAUSED,
        **dict.fromkeys((ours.name, "later", "latest"), CheckPauseState.UNPAUSED),
    }
    # A person unpaused ours in the first upgrade. The end of that one was not seen, so the second one renewed
    # the marks of the others.
    assert [upgrade.patches(check) for check in (ours, later, latest, anothers)] == [3, 3, 3, 0]


async def _both_die(crew: Crew) -> None:
    await asyncio.gather(crew.detector.kill(), crew.worker.kill())
