"""An answer of the API server to the creation of a request is reported as such; other errors are not."""

import pytest

from devcluster.control_plane import ControlPlane
from health.model.observation import HoldReason
from kube.errors import Forbidden, Invalid, KindUnknown, KubernetesError, NotFound, ServerFault, Unreachable
from kube.transport import Transport
from tests.activities.overtaken import Answered
from tests.activities.worker_activities import WorkerActivities
from tests.activities.world import REQUESTS, World
from tests.support.story.other_kind import installed_kind

pytestmark = [pytest.mark.cluster, pytest.mark.rule("rule 27")]


@pytest.mark.parametrize(
    ("error", "reason", "is_reported", "keeps_lease"),
    [
        pytest.param(Forbidden("no", status=403), HoldReason.REFUSED, True, False, id="403"),
        pytest.param(Invalid("no", status=422), HoldReason.REFUSED, True, False, id="422"),
        pytest.param(NotFound("no", status=404), HoldReason.REFUSED, True, False, id="no such namespace"),
        pytest.param(KindUnknown("no", status=404), HoldReason.REFUSED, True, False, id="no such kind"),
        # A failed webhook call: the webhook may have answered after the object was stored.
        pytest.param(ServerFault("no", status=500), HoldReason.FAILED, True, True, id="500"),
        pytest.param(Unreachable("no"), HoldReason.FAILED, False, True, id="no answer"),
    ],
)
async def test_answer_to_the_creation_of_a_request_is_reported_and_the_lease_kept_while_it_is_unknown(  # noqa: PLR0913
    world: World,
    worker_transport: Transport,
    error: KubernetesError,
    reason: HoldReason,
    *,
    is_reported: bool,
    keeps_lease: bool,
) -> None:
    worker = WorkerActivities(worker_transport, client=Answered(worker_transport, REQUESTS, error))
    result = await worker.act(world.order())

    assert result.hold is not None
    assert result.hold.reason is reason
    assert result.hold.request_error == ("no" if is_reported else None)
    assert (await world.lease() is not None) == keeps_lease


async def test_kind_of_requests_that_is_not_served_is_reported_as_a_request_that_was_not_created(
    world: World, admin_worker: WorkerActivities, control_plane: ControlPlane
) -> None:
    async with installed_kind(control_plane) as kind:
        await kind.remove(kind.requests)
        order = await world.order_with_template(kind.api_version, "ResetTemplate", "reset")
        result = await admin_worker.act(order)

    assert result.hold is not None
    assert result.hold.reason is HoldReason.REFUSED
    assert result.hold.request_error == f"The API server serves no kind Reset in {kind.api_version}."
    assert await world.lease() is None
