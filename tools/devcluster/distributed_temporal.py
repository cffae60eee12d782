"""`python -m devcluster.distributed_temporal DIR [-- COMMAND ...]`: Temporal's services on PostgreSQL.

Four services run as processes of their own over one database, with 64 shards. COMMAND runs on them, with the
address in PARAMEDIC_TEST_TEMPORAL, and ends them; without one they run until Ctrl-C. For example the tests:

    python -m devcluster.distributed_temporal /tmp/temporal -- pytest tests/end_to_end/scenarios

It needs `initdb` and `postgres` on PATH. Temporal is built from its Go modules once, into our cache.
"""

import asyncio
import os
import re
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
SCHEMAS = {"temporal": "postgresql/v12/temporal", "temporal_visibility": "postgresql/v12/visibility"}
"""The name of its schema in the SQL tool, by database."""
ADDRESS_VARIABLE = "PARAMEDIC_TEST_TEMPORAL"
PATIENCE = timedelta(seconds=60)
_POSTGRES = "postgres"
CONFIGURATION = Path(__file__).with_suffix(".yaml")


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


async def serve(directory: Path, programs: Path, command: Sequence[str]) -> int:
    """Run `command` on the services, or wait until cancelled; the exit code of the command.

    Raises DevclusterError.
    """
    of_services = [f"{service}{kind}" for service in SERVICES for kind in ("", "_membership")]
    ports = allocate(directory / "ports.json", [_POSTGRES, *of_services])
    async with Supervisor() as supervisor:

        async def start(name: str, command: tuple[str, ...]) -> None:
            await supervisor.start(Program(name, command, directory / f"{name}.log"))

        # The database. PostgreSQL refuses to run as root.
        data, is_root = directory / "data", os.getuid() == 0
        user = (
            ("setpriv", f"--reuid={_POSTGRES}", f"--regid={_POSTGRES}", "--clear-groups") if is_root else ()
        )
        if not data.exists():
            data.mkdir()
            if is_root:
                shutil.chown(data, _POSTGRES, _POSTGRES)
            _run((*user, "initdb", "--pgdata", str(data), "--username", "temporal", "--auth", "trust"))
        listens = ("-p", str(ports[_POSTGRES]), "-c", "listen_addresses=127.0.0.1")
        sockets = ("-c", f"unix_socket_directories={data}")
        await start(_POSTGRES, (*user, "postgres", "-D", str(data), *listens, *sockets))

        # Its schemas.
        at = ("--plugin", "postgres12", "--ep", "127.0.0.1", "-p", str(ports[_POSTGRES]), "-u", "temporal")
        for database, schema in SCHEMAS.items():
            tool = (str(programs / "sql"), *at, "--db", database)
            if not (directory / database).exists():
                await _run_when_it_listens((*tool, "create"))
                _run((*tool, "setup-schema", "-v", "0.0"))
                (directory / database).touch()
            await _run_when_it_listens((*tool, "update-schema", "--schema-name", schema))

        # The services.
        configure(directory / "config", ports)
        options = ("--root", str(directory), "--env", "production", "--allow-no-auth", "start")
        for service in SERVICES:
            await start(service, (str(programs / "server"), *options, "--service", service))
        address = f"127.0.0.1:{ports['frontend']}"
        server = await temporal.attach(address)
        print_progress(f"ready: {address}, namespace {server.namespace}")
        if not command:
            await asyncio.Event().wait()
        environment = {**os.environ, ADDRESS_VARIABLE: address}
        process = await asyncio.create_subprocess_exec(*command, env=environment)
        return await process.wait()


def configure(folder: Path, ports: Mapping[str, int]) -> None:
    """Write the configuration of all services into the folder."""
    folder.mkdir(exist_ok=True)
    dynamic = folder / "dynamic.yaml"
    dynamic.write_text(yaml.safe_dump({"limit.maxIDLength": [{"value": LONGEST_ID}]}))
    text = CONFIGURATION.read_text()
    for name, value in {"dynamic": dynamic, **ports}.items():
        text = re.sub(rf"\b{name.upper()}\b", str(value), text)
    (folder / "production.yaml").write_text(yaml.safe_dump(yaml.safe_load(text)))  # without merge keys


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
        code = await serve(found, build(), rest[1:])

    try:
        asyncio.run(run_until_terminated(run()))
    except DevclusterError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
