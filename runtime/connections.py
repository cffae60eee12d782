"""Connections: what both processes need before their work: Kubernetes, the cluster's identity, Temporal.

Each is waited for as long as it takes, with its reason at /readyz, which is served from the first moment.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from temporalio.client import Client as TemporalClient

from kube.client import Client
from kube.errors import KubernetesError
from kube.transport import Transport
from runtime.cluster import read_cluster_identity
from runtime.insisting import insist
from runtime.problems import Problems
from runtime.readiness import serve_readiness
from runtime.settings import Settings
from runtime.temporal import connect_insisting


@dataclass(frozen=True)
class Connections:
    """All connections of one process."""

    transport: Transport
    kubernetes: Client
    cluster: str
    """The identity of the cluster."""
    temporal: TemporalClient
    problems: Problems


@asynccontextmanager
async def connected(settings: Settings, field_manager: str) -> AsyncIterator[Connections]:
    """The connections of a process, for the time of the block."""
    problems = Problems()
    problems.report("start", "connecting")
    async with serve_readiness(settings.ready_address, problems):
        transport = await insist("kubernetes", Transport.connect, (KubernetesError,), problems)
        async with transport:
            client = Client(transport, field_manager)
            read_identity = partial(read_cluster_identity, client, settings.cluster)
            cluster = await insist("cluster", read_identity, (KubernetesError,), problems)
            temporal = await connect_insisting(settings.identity, problems)
            problems.report("start", "")
            yield Connections(transport, client, cluster, temporal, problems)
