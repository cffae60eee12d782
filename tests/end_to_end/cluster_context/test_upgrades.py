"""An upgrade of an OpenShift cluster holds everything new, and nothing that cleans up."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from devcluster.control_plane import ControlPlane
from tests.end_to_end.cluster_context.openshift import OpenShift, openshift_of
from tests.end_to_end.pairs import Pairs
from tests.end_to_end.world import World

pytestmark = pytest.mark.cluster

DURATION = timedelta(seconds=10)
"""So long that a timer is seen to run."""
POSTPONED = (
    "Normal",
    "RemediationSkipped",
    "[remediation] Postponing potential remediations because of ongoing cluster upgrade",
)


@pytest.fixture(scope="module")
async def openshift(control_plane: ControlPlane, pairs: Pairs) -> AsyncIterator[OpenShift]:
    """ClusterVersions are served, from before our processes start until they have ended."""
    await pairs.stop()
    async with openshift_of(control_plane) as made:
        await made.serve_cluster_versions()
        yield made
        await pairs.stop()


@pytest.mark.rule(
    "NHC 2.1/10",
    "NHC 1.5/RemediationSkipped/upgrade",
    "rule 17",
    "rule 37",
    "rule 6",
    "rule 7/clean-up",
    "rule 15",
)
async def test_nothing_new_is_done_during_an_upgrade_but_clean_ups_and_clocks_restart_at_its_end(
    world: World, openshift: OpenShift
) -> None:
    await openshift.set_progressing("False")
    at_work, first, second = await world.add_nodes(3)
    await world.add_check(duration=f"{DURATION.seconds}s")
    await world.set_ready(at_work, "Unknown", datetime.now(UTC) - DURATION)
    await world.until_phase(at_work, "Remediating")
    await openshift.set_progressing("True")
    await world.fail(first)

    await world.recover(at_work)
    assert await world.outcome(at_work) == "Remediated"
    await world.until_clean(at_work)
    await world.until_phase(first, "Held")
    assert "Upgrading: the cluster is being upgraded since" in (await world.state(first)).details
    await world.until_status(phase="Enabled", observedNodes=3, healthyNodes=2)
    assert world.requests.created(first) == 0
    await world.until_told(*POSTPONED[1:])
    ended = await openshift.set_progressing("False")

    await world.until_phase(first, "Waiting")
    await world.until_requested(first)
    made = datetime.fromisoformat((await world.request(first))["metadata"]["creationTimestamp"])
    assert made >= ended + DURATION
    assert (await world.events()).count(POSTPONED) == 1
    assert world.requests.created(second) == 0
