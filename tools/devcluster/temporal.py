"""A real Temporal server on this machine: the development server, on a file, so that it can be restarted."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from google.protobuf.duration_pb2 import Duration
from temporalio.api.namespace.v1 import NamespaceConfig
from temporalio.api.workflowservice.v1 import (
    DescribeNamespaceRequest,
    RegisterNamespaceRequest,
    UpdateNamespaceRequest,
)
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from devcluster import programs
from devcluster.layout import Layout
from devcluster.polling import until
from devcluster.supervisor import COLLECT_RARELY, Program, Supervisor
from objects.short_text import LONGEST_ID

NAMESPACE = "paramedic"
RETENTION = timedelta(days=30)
"""The recommended value for production; the development server's default is one day."""

PATIENCE = timedelta(seconds=60)


@dataclass(frozen=True)
class TemporalServer:
    """The addresses of the server, and its namespace."""

    address: str
    namespace: str
    ui: str
    """The URL of the Temporal UI."""

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which any client of Temporal finds it."""
        return {"TEMPORAL_ADDRESS": self.address, "TEMPORAL_NAMESPACE": self.namespace}


async def start(supervisor: Supervisor, layout: Layout, settings: Sequence[str] = ()) -> TemporalServer:
    """Start the server under `supervisor` and wait until it is ready; for `settings` see `command`.

    Raises NotReadyError, HopelessError and MissingProgramError.
    """
    log = layout.log("temporal")
    program = Program("temporal", command(layout, (NAMESPACE,), settings), log, COLLECT_RARELY)
    await supervisor.start(program)
    server = server_of(layout, NAMESPACE)

    sentence = f"Temporal does not become ready: see why in {log}"
    await supervisor.until(lambda: is_ready(server), within=PATIENCE, otherwise=sentence)
    return server


async def attach(address: str) -> TemporalServer:
    """A server that runs already, for example on a database; the namespace is made if it is missing.

    Raises NotReadyError if it does not answer, or does not serve the namespace in time.
    """
    server = TemporalServer(address, NAMESPACE, address)

    async def serves() -> bool:
        try:
            client = await Client.connect(address, namespace=NAMESPACE)
            await client.workflow_service.register_namespace(
                RegisterNamespaceRequest(
                    namespace=NAMESPACE, workflow_execution_retention_period=_retention()
                )
            )
        except RPCError as error:
            if error.status is not RPCStatusCode.ALREADY_EXISTS:
                return False
        except RuntimeError:
            return False
        return await is_ready(server)

    await until(serves, within=PATIENCE, otherwise=f"Temporal at {address} does not serve {NAMESPACE}")
    return server


def server_of(layout: Layout, namespace: str) -> TemporalServer:
    """The addresses of the server in a directory."""
    return TemporalServer(layout.address("temporal"), namespace, f"http://{layout.address('temporal-ui')}")


def command(layout: Layout, namespaces: Iterable[str], settings: Iterable[str] = ()) -> tuple[str, ...]:
    """The command of the server; `settings` are values of its dynamic configuration.

    It refuses longer ids, as PostgreSQL and MySQL do; by default it takes 1,000 characters.
    """
    # Without the write-ahead log the file is the bottleneck: each transaction waits for the disk.
    pragmas = ("--sqlite-pragma", "journal_mode=wal", "--sqlite-pragma", "synchronous=1")
    ports = ("--port", str(layout.ports["temporal"]), "--ui-port", str(layout.ports["temporal-ui"]))
    data = ("--db-filename", str(layout.temporal_data), *pragmas)
    named = [part for namespace in namespaces for part in ("--namespace", namespace)]
    values = (f"limit.maxIDLength={LONGEST_ID}", *settings)
    set_to = [part for value in values for part in ("--dynamic-config-value", value)]
    begin = (str(programs.temporal()), "server", "start-dev", "--ip", "127.0.0.1", "--log-level", "warn")
    return (*begin, *ports, *named, *data, *set_to)


async def is_ready(server: TemporalServer) -> bool:
    """True if the server is up and has the right retention, which is set if it is another one."""
    try:
        client = await Client.connect(server.address, namespace=server.namespace)
        if not await client.service_client.check_health():
            return False
        config = NamespaceConfig(workflow_execution_retention_ttl=_retention())
        update = UpdateNamespaceRequest(namespace=client.namespace, config=config)
        await client.workflow_service.update_namespace(update)
        question = DescribeNamespaceRequest(namespace=client.namespace)
        answer = await client.workflow_service.describe_namespace(question)
    except (RPCError, RuntimeError):  # RuntimeError: the client raises it while no server listens
        return False
    return bool(answer.config.workflow_execution_retention_ttl.ToTimedelta() == RETENTION)


def _retention() -> Duration:
    retention = Duration()
    retention.FromTimedelta(RETENTION)
    return retention
