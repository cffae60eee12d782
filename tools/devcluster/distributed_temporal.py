"""`python -m devcluster.distributed_temporal DIR [-- COMMAND ...]`: Temporal's services on PostgreSQL.

Four services run as processes of their own over one database, with 64 shards. COMMAND runs on them, with the
address in PARAMEDIC_TEST_TEMPORAL, and ends them; without one they run until Ctrl-C. For example the tests:

    python -m devcluster.distributed_temporal /tmp/temporal -- pytest tests/end_to_end/scenarios

It needs `initdb` and `postgres` on PATH. Temporal is built from its Go modules once, into our cache.
"""

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path

import yaml

from devcluster import temporal
from devcluster.errors import BuildError, DevclusterError
from devcluster.go_programs import cache_directory, find_go
from devcluster.layout import allocate
from devcluster.polling import until
from devcluster.progress import print_progress
from devcluster.simulation.termination import run_until_terminated
from devcluster.supervisor import Program, Supervisor
from objects.short_text import LONGEST_ID

VERSION = "v1.32.0"
MODULES = ("go.temporal.io/server/cmd/server", "go.temporal.io/server/cmd/tools/sql")
SERVICES = ("frontend", "history", "matching", "worker")
SHARDS = 64
USER = "temporal"
SCHEMAS = {"temporal": "postgresql/v12/temporal", "temporal_visibility": "postgresql/v12/visibility"}
"""The name of its schema in the SQL tool, by database."""
ADDRESS_VARIABLE = "PARAMEDIC_TEST_TEMPORAL"
PATIENCE = timedelta(seconds=60)
_POSTGRES = "postgres"


def build() -> Path:
    """The folder with `server` and `sql`; the first call takes minutes. Raises BuildError."""
    folder = cache_directory() / "distributed-temporal" / VERSION
    if not all((folder / Path(module).name).exists() for module in MODULES):
        print_progress(f"building Temporal {VERSION} from its Go modules: the first time only")
        environment = {**os.environ, "GOBIN": str(folder), "CGO_ENABLED": "0"}
        command = [str(find_go()), "install", *(f"{module}@{VERSION}" for module in MODULES)]
        if subprocess.run(command, env=environment, check=False, cwd="/").returncode:  # noqa: S603  ours
            raise BuildError(f"Temporal {VERSION} could not be built")
    return folder


class DistributedTemporal:
    """Temporal's services and their database on one directory."""

    def __init__(self, directory: Path, programs: Path) -> None:
        self._directory = directory
        self._programs = programs
        of_services = [f"{service}{kind}" for service in SERVICES for kind in ("", "-membership")]
        self._ports = allocate(directory / "ports.json", [_POSTGRES, *of_services])
        self._supervisor = Supervisor()

    async def run(self, command: Sequence[str]) -> int:
        """Run `command` on the services, or wait until cancelled; the exit code of the command."""
        async with self._supervisor:
            await self._start_database()
            await self._make_schemas()
            self._configure()
            options = ("--root", str(self._directory), "--env", "production", "--allow-no-auth")
            for service in SERVICES:
                await self._start(service, (self._program("server"), *options, "start", "--service", service))
            address = f"127.0.0.1:{self._ports['frontend']}"
            server = await temporal.attach(address)
            print_progress(f"ready: {address}, namespace {server.namespace}")
            if not command:
                await asyncio.Event().wait()
            environment = {**os.environ, ADDRESS_VARIABLE: address}
            process = await asyncio.create_subprocess_exec(*command, env=environment)
            return await process.wait()

    async def _start(self, name: str, command: tuple[str, ...]) -> None:
        log = self._directory / f"{name}.log"
        await self._supervisor.start(Program(name, command, log))

    async def _start_database(self) -> None:
        data, port = self._directory / "data", str(self._ports[_POSTGRES])
        if not data.exists():
            data.mkdir()
            # PostgreSQL refuses to run as root.
            if os.getuid() == 0:
                shutil.chown(data, _POSTGRES, _POSTGRES)
            options = ("--pgdata", str(data), "--username", USER, "--auth", "trust")
            _run((*_as_postgres(), "initdb", *options))
        settings = ("-c", "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={data}")
        await self._start(_POSTGRES, (*_as_postgres(), "postgres", "-D", str(data), "-p", port, *settings))

    async def _make_schemas(self) -> None:
        port = str(self._ports[_POSTGRES])
        tool = (self._program("sql"), "--plugin", "postgres12", "--ep", "127.0.0.1", "-p", port, "-u", USER)
        for database, schema in SCHEMAS.items():
            of_database = (*tool, "--db", database)
            if not (self._directory / database).exists():
                await _run_when_it_listens((*of_database, "create"))
                _run((*of_database, "setup-schema", "-v", "0.0"))
                (self._directory / database).touch()
            await _run_when_it_listens((*of_database, "update-schema", "--schema-name", schema))

    def _configure(self) -> None:
        folder = self._directory / "config"
        folder.mkdir(exist_ok=True)
        (folder / "dynamic.yaml").write_text(yaml.safe_dump({"limit.maxIDLength": [{"value": LONGEST_ID}]}))
        (folder / "production.yaml").write_text(yaml.safe_dump(self._configuration(folder / "dynamic.yaml")))

    def _configuration(self, dynamic: Path) -> Mapping[str, object]:
        stores = zip(("default", "visibility"), SCHEMAS, strict=True)
        of_database = {
            "pluginName": "postgres12",
            "connectAddr": f"127.0.0.1:{self._ports[_POSTGRES]}",
            "connectProtocol": "tcp",
            "user": USER,
            "maxConns": 20,
            "maxIdleConns": 20,
        }
        frontend = f"127.0.0.1:{self._ports['frontend']}"
        here = {"enabled": True, "initialFailoverVersion": 1, "rpcName": "frontend", "rpcAddress": frontend}
        return {
            "log": {"stdout": True, "level": "warn"},
            "persistence": {
                "numHistoryShards": SHARDS,
                "defaultStore": "default",
                "visibilityStore": "visibility",
                "datastores": {
                    store: {"sql": of_database | {"databaseName": database}} for store, database in stores
                },
            },
            "global": {"membership": {"maxJoinDuration": "30s", "broadcastAddress": "127.0.0.1"}},
            "services": {service: {"rpc": self._rpc(service)} for service in SERVICES},
            "clusterMetadata": {
                "enableGlobalNamespace": False,
                "failoverVersionIncrement": 10,
                "masterClusterName": "active",
                "currentClusterName": "active",
                "clusterInformation": {"active": here},
            },
            "dcRedirectionPolicy": {"policy": "noop"},
            "dynamicConfigClient": {"filepath": str(dynamic), "pollInterval": "60s"},
            "publicClient": {"hostPort": frontend},
        }

    def _rpc(self, service: str) -> Mapping[str, object]:
        ports = {"grpcPort": self._ports[service], "membershipPort": self._ports[f"{service}-membership"]}
        return {**ports, "bindOnLocalHost": True}

    def _program(self, name: str) -> str:
        return str(self._programs / name)


def _as_postgres() -> tuple[str, ...]:
    is_root = os.getuid() == 0
    return ("setpriv", f"--reuid={_POSTGRES}", f"--regid={_POSTGRES}", "--clear-groups") if is_root else ()


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  ours
    if done.returncode:
        raise DevclusterError(f"{' '.join(command)} failed: {done.stdout}{done.stderr}")


async def _run_when_it_listens(command: Sequence[str]) -> None:
    """The database accepts connections a moment after its start."""

    async def works() -> bool:
        try:
            await asyncio.to_thread(_run, command)
        except DevclusterError:
            return False
        return True

    await until(works, within=PATIENCE, otherwise=f"{' '.join(command)} did not work")


def main(arguments: Sequence[str]) -> int:
    directory, *rest = arguments or ("",)
    if not directory or rest[:1] not in ([], ["--"]):
        sys.stderr.write("usage: python -m devcluster.distributed_temporal DIR [-- COMMAND ...]\n")
        return 2
    found, code = Path(directory).absolute(), 0
    found.mkdir(parents=True, exist_ok=True)

    async def run() -> None:
        nonlocal code
        code = await DistributedTemporal(found, build()).run(rest[1:])

    try:
        asyncio.run(run_until_terminated(run()))
    except DevclusterError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
