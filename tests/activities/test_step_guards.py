"""A step asks every guard of the registry before its request is made."""

import pytest

from activities import act
from activities.attempt import StepHeld
from activities.kind_activities import NewStepGuard
from activities.requests import OwnRequests
from health.model.observation import HoldReason
from health.model.target import Target
from kube.connection import ClusterConnection
from tests.activities.worker_activities import WorkerActivities
from tests.activities.world import World
from workflows.contracts import ActInput

pytestmark = pytest.mark.cluster


class _Silent:
    """A guard that holds nothing."""

    def __init__(self, connection: ClusterConnection, requests: OwnRequests) -> None:
        """Keep nothing."""

    async def refuse(self, asked: ActInput, target: Target) -> None:
        """Return."""


class _Firm(_Silent):
    """A guard that holds every target."""

    async def refuse(self, asked: ActInput, target: Target) -> None:  # noqa: ARG002  as StepGuard
        raise StepHeld.because(HoldReason.CONTROL_PLANE, f"keep {target.metadata.name}", ask_again_seconds=7)


@pytest.mark.parametrize("guards", [(_Firm, _Silent), (_Silent, _Firm)], ids=["first", "last"])
async def test_step_is_held_by_any_guard_of_the_registry_before_anything_is_written(
    world: World,
    worker: WorkerActivities,
    monkeypatch: pytest.MonkeyPatch,
    guards: tuple[NewStepGuard, ...],
) -> None:
    monkeypatch.setattr(act, "STEP_GUARDS", guards)

    hold = (await worker.act(world.order())).hold

    assert hold is not None
    assert str(hold) == f"ControlPlane: keep {world.name}"
    assert hold.ask_again_seconds == 7
    assert await world.request() is None
    assert await world.lease() is None


async def test_step_is_taken_if_no_guard_holds_it(
    world: World, worker: WorkerActivities, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(act, "STEP_GUARDS", (_Silent, _Silent))

    assert (await worker.act(world.order())).request is not None
