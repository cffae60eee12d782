"""A process that does not lead watches the leader Lease, here on a scripted API server."""

from datetime import timedelta

import pytest

from kube.client import Client
from kube.errors import KindUnknown
from kube.lease import new_lease
from kube.resource import LEASES
from kube.server_clock import wall_clock
from runtime.paramedic_status import LEADERLESS_FOR, NAME, PARAMEDIC_STATUSES
from runtime.process_names import LEADER_LEASE
from runtime.status_writer import LeaderWatch, StatusWriter
from tests.support.api.api_server import NOT_SERVED, Answer, ApiServer, refused, said

NAMESPACE = "ours"
LEASE = LEASES.path(NAMESPACE, LEADER_LEASE)
STATUS = PARAMEDIC_STATUSES.path(NAMESPACE, NAME)
GONE = refused(404, "NotFound", name=LEADER_LEASE)


def lease(version: str, holder: str) -> Answer:
    now = wall_clock()
    body = new_lease(LEADER_LEASE, NAMESPACE, holder, timedelta(seconds=15), now, None)
    metadata = {"uid": "u", "resourceVersion": version, "creationTimestamp": now.isoformat()}
    return said(body | {"metadata": body["metadata"] | metadata})


class Looks:
    """Looks at a Lease at given times since the first look: did the look see that no detector leads?"""

    def __init__(self, server: ApiServer, client: Client) -> None:
        self._server = server
        self._seconds = 0.0
        writer = StatusWriter(client, NAMESPACE, "paramedic", "worker", wall_clock)
        self._watch = LeaderWatch(client, NAMESPACE, writer, lambda: self._seconds)
        server.answer("GET", STATUS, refused(404, "NotFound", name=NAME))

    async def is_leaderless(self, answer: Answer, at: timedelta) -> bool:
        self._seconds = at.total_seconds()
        self._server.forget("GET", LEASE)
        self._server.answer("GET", LEASE, answer)
        asked = len(self._server.asked)
        await self._watch.look()
        return any(asked.path == STATUS for asked in self._server.asked[asked:])


@pytest.fixture
def looks(server: ApiServer, client: Client) -> Looks:
    return Looks(server, client)


@pytest.mark.parametrize(
    ("later", "is_leaderless"),
    [
        pytest.param(lease("2", "first"), False, id="renewed"),
        pytest.param(lease("1", "first"), True, id="not renewed"),
        pytest.param(lease("2", ""), True, id="released"),
        pytest.param(GONE, True, id="deleted"),
    ],
)
async def test_no_detector_leads_when_the_lease_was_not_renewed_for_half_a_minute(
    looks: Looks, later: Answer, *, is_leaderless: bool
) -> None:
    assert not await looks.is_leaderless(lease("1", "first"), timedelta())
    assert not await looks.is_leaderless(lease("1", "first"), LEADERLESS_FOR - timedelta(seconds=1))
    assert await looks.is_leaderless(later, LEADERLESS_FOR) is is_leaderless


@pytest.mark.parametrize("first", [lease("9", "first"), lease("9", ""), GONE], ids=["held", "free", "none"])
async def test_first_look_reports_nothing_yet(looks: Looks, first: Answer) -> None:
    assert not await looks.is_leaderless(first, LEADERLESS_FOR)


async def test_answer_that_names_no_lease_is_a_failed_look_and_not_a_missing_lease(looks: Looks) -> None:
    assert not await looks.is_leaderless(lease("1", "first"), timedelta())
    with pytest.raises(KindUnknown):
        await looks.is_leaderless(NOT_SERVED, LEADERLESS_FOR)
    assert not await looks.is_leaderless(lease("1", "first"), LEADERLESS_FOR)
