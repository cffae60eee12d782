"""Hands: the activities as a worker has them, run without a Temporal server."""

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from temporalio.testing import ActivityEnvironment

from activities.act import Act, Clock
from activities.clean_up import CleanUp
from activities.renew import Renew
from kube.client import Client
from kube.discovery import Discovery
from kube.node_lease import NodeLeases
from kube.transport import Transport
from tests.activities.world import LEASE_NAMESPACE
from workflows.contracts import ActInput, ActResult, CleanUpInput, CleanUpResult, RenewInput


def _now() -> datetime:
    return datetime.now(UTC)


class Hands:
    """The three activities on one connection."""

    def __init__(self, transport: Transport) -> None:
        self._client, self._discovery = Client(transport, "tests"), Discovery(transport)
        self._leases = NodeLeases(self._client, LEASE_NAMESPACE)

    async def act(
        self,
        asked: ActInput,
        *,
        waited: timedelta = timedelta(),
        monotonic: Callable[[], float] = time.monotonic,
    ) -> ActResult:
        environment = ActivityEnvironment()
        started = environment.info.scheduled_time + waited
        environment.info = replace(environment.info, started_time=started)
        act = Act(self._client, self._discovery, self._leases, Clock(_now, monotonic))
        return await environment.run(act.act, asked)

    async def clean_up(self, asked: CleanUpInput) -> CleanUpResult:
        clean_up = CleanUp(self._client, self._discovery, self._leases)
        return await ActivityEnvironment().run(clean_up.clean_up, asked)

    async def renew(self, asked: RenewInput) -> None:
        await ActivityEnvironment().run(Renew(self._leases, _now).renew, asked)
