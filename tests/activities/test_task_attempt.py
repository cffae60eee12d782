"""A maintenance task returns its failures item by item and raises no error."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import pytest
from temporalio.testing import ActivityEnvironment

from activities.attempt import hold_of
from activities.live_objects import LiveObjects
from activities.maintenance import Maintenance
from activities.registry import KIND_ACTIVITIES
from activities.requests import OwnRequests
from activities.target_lease import TargetLeases
from health.model.moves import AnnotationPatch
from health.model.observation import HoldReason
from health.model.references import RequestReference
from health.runbook.failures import TaskFailure
from kube.client import Client
from kube.connection import ClusterConnection, ClusterConnections, WorkloadConnections
from kube.errors import Forbidden, Invalid, KubernetesError, ServerFault, TooManyRequests, Unreachable
from kube.transport import Transport
from tests.support.api.api_server import Answer, ApiServer, refused
from tests.support.values.builders import incident_reference
from workflows.contracts import AnnotateInput, CleanUpInput, RenewInput

INCIDENT = incident_reference("test")
REQUEST = RequestReference(api_version="example.com/v1", kind="Reboot", namespace="ns", name="a", uid="u")
LEASE = "/apis/coordination.k8s.io/v1/namespaces/leases/leases/node-node-1"
KINDS = "/apis/example.com/v1"
Run = Callable[[], Awaitable[tuple[TaskFailure, ...]]]


@pytest.fixture(params=["clean_up", "renew", "annotate"])
def run(request: pytest.FixtureRequest, client: Client, transport: Transport) -> Run:
    """Run one attempt of an activity; return its failures."""
    connection, leases = ClusterConnection.over(transport), TargetLeases(client, "leases")
    objects = LiveObjects(ClusterConnections(connection, WorkloadConnections(client)), KIND_ACTIVITIES)
    maintenance = Maintenance(OwnRequests(objects), leases, lambda: datetime.now(UTC))
    environment = ActivityEnvironment()

    async def attempt() -> tuple[TaskFailure, ...]:
        match request.param:
            case "clean_up":
                asked = CleanUpInput(incident=INCIDENT, requests=(REQUEST,))
                return (await environment.run(maintenance.clean_up, asked)).failures
            case "renew":
                due = RenewInput(incident=INCIDENT, duration_seconds=600)
                return (await environment.run(maintenance.renew, due)).failures
            case _:
                patches = (AnnotationPatch(request=REQUEST, annotations={}),)
                return (
                    await environment.run(
                        maintenance.annotate, AnnotateInput(incident=INCIDENT, patches=patches)
                    )
                ).failures

    return attempt


def answer(server: ApiServer, of: Answer) -> None:
    server.answer("GET", LEASE, of)
    server.answer("GET", KINDS, of)


@pytest.mark.parametrize("code", [429, 503])
async def test_failure_says_how_long_the_api_server_wants_to_be_left_alone(
    server: ApiServer, run: Run, code: int
) -> None:
    answer(server, refused(code, "Busy", **{"Retry-After": "10"}))
    (failure,) = await run()
    assert failure.wait_seconds == 10
    assert f"was answered {code} Busy" in failure.why
    assert not failure.is_refused


@pytest.mark.rule("rule 47/403")
@pytest.mark.parametrize(
    ("status", "reason"), [(400, "BadRequest"), (403, "Forbidden"), (422, "Invalid")], ids=str
)
async def test_failure_says_that_the_cluster_refuses(
    server: ApiServer, run: Run, status: int, reason: str
) -> None:
    answer(server, refused(status, reason))
    (failure,) = await run()
    assert failure.is_refused
    assert failure.wait_seconds == 0


@pytest.mark.parametrize(
    ("error", "reason", "seconds"),
    [
        (TooManyRequests("busy", retry_after=timedelta(seconds=40)), HoldReason.FAILED, 40),
        (ServerFault("busy", retry_after=timedelta(seconds=1)), HoldReason.FAILED, 5),
        (Unreachable("away"), HoldReason.FAILED, 5),
        (Forbidden("no"), HoldReason.REFUSED, 1.5),
        (Invalid("no"), HoldReason.REFUSED, 60),
    ],
)
def test_act_that_broke_off_is_held_for_as_long_as_told(
    error: KubernetesError, reason: HoldReason, seconds: float
) -> None:
    hold = hold_of(error)
    assert hold.reason is reason
    assert hold.ask_again_seconds == seconds
