"""The ConfigMap with the policy, on a real API server, with the rights of the detector."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta

import pytest

from detector.feeds.policy_feed import PolicyFeed
from detector.reporting.event_reporter import EventReporter
from detector.state.cluster_state import ClusterState
from devcluster.control_plane import ControlPlane
from health.cluster.cluster_context import ClusterContext
from health.policy.policy import KEY, POLICY, Policy
from health.policy.policy_in_force import MISSING_POLICY
from kube.client import Client
from kube.errors import NotFound
from kube.rate_limiter import RateLimiter
from kube.resource import CONFIG_MAPS, EVENTS
from kube.transport import Transport
from tests.support.api.eventually import eventually

pytestmark = [pytest.mark.cluster, pytest.mark.rule("rule 3", "rule 8")]

NAMESPACE = "paramedic-system"
DEFAULTS = Policy(back_off_limit=timedelta(minutes=7))


class Person:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def creates(self, text: str) -> None:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": POLICY}, "data": {KEY: text}}
        await self._client.create(CONFIG_MAPS, body, NAMESPACE)

    async def edits(self, text: str) -> None:
        await self._client.merge_patch(CONFIG_MAPS, POLICY, {"data": {KEY: text}}, NAMESPACE)

    async def deletes(self) -> None:
        with suppress(NotFound):
            await self._client.delete(CONFIG_MAPS, POLICY, NAMESPACE)

    async def is_reported(self, reason: str) -> list[str]:
        """The messages of the Events on the ConfigMap with this reason."""
        return [
            event["message"]
            for event in await self._client.list(EVENTS, NAMESPACE)
            if (event["involvedObject"]["name"], event["reason"]) == (POLICY, reason)
        ]


@pytest.fixture
async def person(control_plane: ControlPlane) -> AsyncIterator[Person]:
    async with await Transport.connect(str(control_plane.kubeconfig)) as transport:
        person = Person(Client(transport))
        yield person
        await person.deletes()


@asynccontextmanager
async def watching(control_plane: ControlPlane, *, is_required: bool = False) -> AsyncIterator[PolicyFeed]:
    async with await Transport.connect(str(control_plane.detector_kubeconfig)) as transport:
        changed = asyncio.Event()
        watch = PolicyFeed(transport, NAMESPACE, lambda: DEFAULTS, changed.set, is_required=is_required)
        (source,), cluster_state = watch.sources, ClusterState("tests")
        reporter = EventReporter(
            Client(transport),
            cluster_state,
            instance="tests",
            namespace=NAMESPACE,
            rate_limiter=RateLimiter(100, 10.0, time.monotonic),
            now=lambda: datetime.now(UTC),
        )
        cluster_state.event_handlers.add_context_handler(reporter.policy_changed)

        async def tell() -> None:
            while True:
                await changed.wait()
                changed.clear()
                cluster_state.take_context(ClusterContext(policy=watch.look()))

        running = [asyncio.create_task(run) for run in (source.run(), reporter.lead(), tell())]
        try:
            await asyncio.wait_for(source.wait_synced(), timeout=30)
            changed.set()  # as the cluster context does after the policy was read
            yield watch
        finally:
            for task in running:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task


async def test_edit_is_in_force_at_once_and_a_bad_one_keeps_the_last_and_is_reported(
    control_plane: ControlPlane, person: Person
) -> None:
    async with watching(control_plane) as watch:
        assert (watch.look().policy, watch.look().hold) == (DEFAULTS, None)
        await person.creates("backOffLimit: 10m")
        await eventually(lambda: watch.current().back_off_limit == timedelta(minutes=10))
        await _eventually_told(person, "PolicyTaken", "The policy is in force.")

        await person.edits("backOffLimit: soon")
        await eventually(lambda: watch.look().rejection)
        assert (watch.current().back_off_limit, watch.look().hold) == (timedelta(minutes=10), None)
        await _eventually_told(person, "PolicyRefused", "policy.yaml: backOffLimit: must be a duration")

        async with watching(control_plane) as restarted:
            hold = restarted.look().hold
            assert hold is not None
            assert "(found 'soon')" in hold.message
            await person.deletes()
            await eventually(lambda: restarted.look().hold is None)
        await eventually(lambda: watch.look().policy == DEFAULTS)


@pytest.mark.rule("rule 51")
async def test_required_policy_that_is_pruned_holds_with_an_event_until_it_is_restored(
    control_plane: ControlPlane, person: Person
) -> None:
    async with watching(control_plane, is_required=True) as watch:
        assert watch.look().hold == MISSING_POLICY
        await _eventually_told(person, "PolicyMissing", "The ConfigMap paramedic-policy with the key")
        await person.creates("backOffLimit: 10m")
        await eventually(lambda: watch.look().hold is None)

        await person.deletes()
        await eventually(lambda: watch.look().hold == MISSING_POLICY)
        assert watch.current().back_off_limit == timedelta(minutes=10)

        await person.creates("backOffLimit: 11m")
        await eventually(lambda: watch.look().hold is None)
        assert watch.current().back_off_limit == timedelta(minutes=11)


async def _eventually_told(person: Person, reason: str, message: str) -> None:
    async with asyncio.timeout(60):
        while not any(told.startswith(message) for told in await person.is_reported(reason)):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
