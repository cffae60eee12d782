"""The questions of the command go through Temporal to the detector that leads, or name its Lease."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest
from temporalio import activity
from temporalio.client import Client
from temporalio.worker import Worker

from cli.shared import leader
from cli.shared.errors import NotFoundError, UnreachableError, UsageError
from cli.shared.leader import leader_trouble, put_question
from devcluster.temporal import TemporalServer
from kube.lease import LeaseRecord
from objects.timestamps import micro_time, stamp
from tests.support.api.tcp_proxy import TcpProxy
from tests.support.cluster.temporal_servers import client_of
from tests.support.state.leading import Leading, leading
from tests.support.state.small_cluster import SmallCluster
from tests.support.values.builders import NOW
from workflows.contracts import detector_queue
from workflows.inspection_contracts import (
    CHECK,
    EXPLAIN,
    SIMULATE,
    CheckAnswer,
    ExplainAnswer,
    NameInput,
    SimulateInput,
    SimulationAnswer,
)
from workflows.kit import Contract

AT_ONCE = 8
SHORT = timedelta(seconds=1)


def within_a_second(contract: Contract) -> Contract:
    return replace(contract, schedule_to_close=SHORT, start_to_close=SHORT)


@pytest.fixture
async def client(temporal_server: TemporalServer) -> Client:
    return await client_of(temporal_server)


@pytest.fixture
def cluster() -> str:
    return f"asked-{uuid4().hex[:8]}"


@asynccontextmanager
async def polling(client: Client, cluster: str, detector: Leading[SmallCluster]) -> AsyncIterator[None]:
    activities = detector.inspector.activities
    async with Worker(client, task_queue=detector_queue(cluster), activities=activities):
        yield


async def test_leader_answers_more_questions_at_once_than_it_takes(client: Client, cluster: str) -> None:
    question = NameInput(name="workers")
    async with polling(client, cluster, leading(3)):
        asked = (put_question(client, cluster, CHECK, question, CheckAnswer) for _ in range(AT_ONCE))
        answers = await asyncio.gather(*asked)
    assert [answer.unhealthy for answer in answers] == [3] * AT_ONCE


async def test_answer_comes_through_temporal_as_the_leader_gave_it(client: Client, cluster: str) -> None:
    detector, question = leading(2, 1, minHealthy=2), NameInput(name="u0")
    async with polling(client, cluster, detector):
        answer = await put_question(client, cluster, EXPLAIN, question, ExplainAnswer)
    assert answer == await detector.inspector.explain(question)


async def test_wrong_name_and_wrong_text_are_errors_of_the_command_with_field_and_value(
    client: Client, cluster: str
) -> None:
    wrong = SimulateInput(text="{limits: {maxInFlight: 0}}", is_policy=True)
    async with polling(client, cluster, leading()):
        with pytest.raises(NotFoundError, match=r"^no Node or Machine is called 'absent'$"):
            await put_question(client, cluster, EXPLAIN, NameInput(name="absent"), ExplainAnswer)
        with pytest.raises(UsageError, match=r"^limits.maxInFlight: must be at least 1 \(found 0\)$"):
            await put_question(client, cluster, SIMULATE, wrong, SimulationAnswer)


async def test_question_that_no_detector_polls_for_ends_at_its_time(client: Client, cluster: str) -> None:
    with pytest.raises(UnreachableError, match=r"^no detector answered within 1 s$"):
        await put_question(client, cluster, within_a_second(CHECK), NameInput(name="workers"), CheckAnswer)


async def test_detector_that_lost_the_lead_or_is_busy_is_named_once_the_time_is_over(
    client: Client, cluster: str
) -> None:
    detector = leading()
    detector.leads = False
    async with polling(client, cluster, detector):
        with pytest.raises(
            UnreachableError, match=r"^no detector answered within 1 s: .* no longer the leader"
        ):
            await put_question(client, cluster, within_a_second(CHECK), NameInput(name="w"), CheckAnswer)


async def test_error_of_the_leader_is_named(client: Client, cluster: str) -> None:
    @activity.defn(name=CHECK.name)
    async def failing(_: NameInput) -> CheckAnswer:
        raise ValueError("an odd state")

    async with Worker(client, task_queue=detector_queue(cluster), activities=[failing]):
        with pytest.raises(UnreachableError, match="within 1 s: an odd state"):
            await put_question(client, cluster, within_a_second(CHECK), NameInput(name="w"), CheckAnswer)


async def test_temporal_that_does_not_answer_in_time_ends_the_question(
    temporal_server: TemporalServer, cluster: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leader, "GRACE", timedelta(seconds=0.1))
    async with TcpProxy(f"http://{temporal_server.address}") as proxy:
        slow = await client_of(replace(temporal_server, address=proxy.address))
        proxy.hold()
        with pytest.raises(UnreachableError, match="no detector answered within 1 s"):
            await put_question(slow, cluster, within_a_second(CHECK), NameInput(name="w"), CheckAnswer)


NAME = "paramedic-system/paramedic-detector"
METADATA = {
    "name": "paramedic-detector",
    "namespace": "paramedic-system",
    "uid": "u",
    "creationTimestamp": stamp(NOW),
}
SPEC = {"holderIdentity": "detector-1", "leaseDurationSeconds": 15, "renewTime": micro_time(NOW)}
HELD = {"metadata": METADATA, "spec": SPEC}
RELEASED = {"metadata": METADATA, "spec": {**SPEC, "holderIdentity": ""}}
EXPIRED = f"the Lease {NAME} expired at 2026-03-01 12:00:15Z (59m45s ago); its last holder was detector-1"


def test_leading_detector_is_no_trouble() -> None:
    assert not leader_trouble(NAME, LeaseRecord.read(HELD), NOW)


@pytest.mark.parametrize(
    ("lease", "why"),
    [
        (None, f"there is no Lease {NAME}"),
        (RELEASED, f"the Lease {NAME} has no holder"),
        (HELD, EXPIRED),
    ],
    ids=["no Lease", "released", "expired"],
)
def test_lease_that_nothing_holds_is_named_with_its_last_holder_and_its_end(
    lease: dict[str, object] | None, why: str
) -> None:
    found = None if lease is None else LeaseRecord.read(lease)
    later = NOW + timedelta(hours=1)
    assert leader_trouble(NAME, found, later) == f"no detector leads, so nothing is done: {why}"
