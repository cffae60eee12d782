"""What the API server sends away for a time is asked for again no earlier than told."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.clean_up import CleanUp
from activities.held import hold_of
from activities.mark import Mark
from activities.renew import Renew
from activities.target_lease import TargetLeases
from health.moves import RequestMark
from health.observation import HoldReason
from health.references import RequestReference
from kube.client import Client
from kube.discovery import Discovery
from kube.errors import KubernetesError, ServerFault, TooManyRequests, Unreachable
from kube.transport import Transport
from tests.kube.api_server import ApiServer, refused
from tests.kube.conftest import client, server, transport
from tests.workflows.sights import incident_reference
from workflows.contracts import LONGEST_RETRY, CleanUpInput, MarkInput, RenewInput

__all__ = ["client", "server", "transport"]

TOLD = timedelta(seconds=10)
INCIDENT = incident_reference("test")
REQUEST = RequestReference(api_version="example.com/v1", kind="Reboot", namespace="ns", name="a", uid="u")
LEASE = "/apis/coordination.k8s.io/v1/namespaces/leases/leases/node-node-1"
KINDS = "/apis/example.com/v1"
Run = Callable[[], Awaitable[object]]


@pytest.fixture(params=["clean_up", "renew", "mark"])
def run(request: pytest.FixtureRequest, client: Client, transport: Transport) -> Run:
    """One attempt of an activity."""
    leases, discovery = TargetLeases(client, "leases"), Discovery(transport)
    clean_up, renew = CleanUp(client, discovery, leases), Renew(leases, lambda: datetime.now(UTC))
    marks = (RequestMark(request=REQUEST, annotations={}),)
    environment = ActivityEnvironment()
    environment.info = replace(environment.info, attempt=9)
    attempts: dict[str, Run] = {
        "clean_up": lambda: environment.run(
            clean_up.clean_up, CleanUpInput(incident=INCIDENT, requests=(REQUEST,))
        ),
        "renew": lambda: environment.run(renew.renew, RenewInput(incident=INCIDENT, duration_seconds=600)),
        "mark": lambda: environment.run(
            Mark(client, discovery).mark, MarkInput(incident=INCIDENT, marks=marks)
        ),
    }
    return attempts[request.param]


@pytest.mark.parametrize("code", [429, 503])
async def test_temporal_is_told_how_long_the_api_server_wants_to_be_left_alone(
    server: ApiServer, run: Run, code: int
) -> None:
    busy = refused(code, "Busy", **{"Retry-After": "10"})
    server.answer("GET", LEASE, busy)
    server.answer("GET", KINDS, busy)
    with pytest.raises(ApplicationError) as failed:
        await run()
    assert failed.value.next_retry_delay is not None
    assert TOLD <= failed.value.next_retry_delay <= TOLD + LONGEST_RETRY
    assert failed.value.type in {TooManyRequests.__name__, ServerFault.__name__}
    assert f"was answered {code} Busy" in failed.value.message
    assert not failed.value.non_retryable


async def test_failure_without_such_a_wait_is_left_as_it_is(server: ApiServer, run: Run) -> None:
    broken = refused(503, "ServiceUnavailable")
    server.answer("GET", LEASE, broken)
    server.answer("GET", KINDS, broken)
    with pytest.raises(ServerFault):
        await run()


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        (TooManyRequests("busy", retry_after=timedelta(seconds=40)), 40),
        (ServerFault("busy", retry_after=timedelta(seconds=1)), 5),
        (Unreachable("away"), 5),
    ],
)
def test_act_that_broke_off_is_held_for_as_long_as_told(error: KubernetesError, seconds: float) -> None:
    hold = hold_of(error)
    assert hold.reason is HoldReason.FAILED
    assert hold.ask_again_seconds == seconds
