"""Detector and worker as the manifests start them: command, variables, mounts, user, read-only root.

One installation has all that can stand side by side, so that each process starts once: Temporal's development
server inside, OpenShift, Cluster API, the webhook.
"""

import asyncio
import json
import signal
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pytest
from temporalio.client import Client
from temporalio.service import RPCError

from devcluster import programs
from devcluster.control_plane import ControlPlane
from devcluster.polling import until
from kube.resource import Object
from tests.deploy.confinement import Pod, is_confining
from tests.deploy.containers import Container, container
from tests.deploy.overlays import OVERLAYS, combined, overlay
from tests.support.api.ports import free_port
from tests.support.api.tls import write_pair
from tests.support.values.payload_keys import THIS_YEAR, keys_file

PATIENCE = timedelta(seconds=60)
TOGETHER = ("temporal-dev", "openshift", "cluster-api", "core-manager-off", "webhook", "payload-keys")
OURS = ("detector", "worker")
ACCOUNT = "var/run/secrets/kubernetes.io/serviceaccount"
WEBHOOK = "etc/paramedic/webhook"
PAYLOAD_KEYS = "etc/paramedic/payload-keys/keys.yaml"
NOT_READ_ONLY = ("/mnt", "/proc", "/sys")


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory) -> tuple[Object, ...]:
    return combined(tmp_path_factory.mktemp("together"), *TOGETHER)


def confined(one: Container) -> Object:
    """The security context and the command of a container, without its settings, mounts and ports."""
    others = ("volumes", "containers", "initContainers")
    own = ("env", "envFrom", "volumeMounts", "ports")
    pod = {key: value for key, value in one.pod.items() if key not in others}
    return pod | {"container": {key: value for key, value in one.spec.items() if key not in own}}


@pytest.mark.parametrize("name", OVERLAYS)
@pytest.mark.parametrize("process", OURS)
def test_containers_of_these_tests_are_those_of_every_overlay(
    name: str, process: str, together: tuple[Object, ...]
) -> None:
    started, alone = container(together, process), container(overlay(name), process)
    assert confined(alone) == confined(started)
    others = set(alone.environment) - set(started.environment)
    assert {variable for variable in others if not variable.startswith("TEMPORAL_")} == set()


class Installation:
    """The containers of one installation on this machine."""

    def __init__(self, objects: tuple[Object, ...], control_plane: ControlPlane, directory: Path) -> None:
        self._objects = objects
        self._control_plane = control_plane
        self._directory = directory
        self.temporal_port, self.webhook_port = free_port(), free_port()

    @asynccontextmanager
    async def temporal(self) -> AsyncIterator[None]:
        """Run Temporal as its StatefulSet does, on a port that is free; its image runs `temporal`."""
        (pod, log), ui = self._pod("temporal"), free_port()
        here = {
            "--ip=0.0.0.0": "--ip=127.0.0.1",
            "--port=7233": f"--port={self.temporal_port}",
            "--ui-port=8233": f"--ui-port={ui}",
            "--db-filename=/data/temporal.db": f"--db-filename={pod.volume}/temporal.db",
        }
        arguments = container(self._objects, "temporal").command
        assert here.keys() <= set(arguments)
        command = [str(programs.temporal()), *(here.get(argument, argument) for argument in arguments)]
        process = await pod.start(command, {}, log)
        try:
            await until(self._temporal_answers, within=PATIENCE, otherwise=f"Temporal is away, see {log}")
            yield
        finally:
            process.terminate()
            await process.wait()

    async def _temporal_answers(self) -> bool:
        with suppress(RPCError, RuntimeError):
            client = await Client.connect(f"127.0.0.1:{self.temporal_port}")
            return await client.service_client.check_health()
        return False

    async def setup(self) -> int:
        """Run what a worker waits for before it starts; its exit code."""
        pod, log = self._pod("setup")
        given = container(self._objects, "setup")
        return await (await pod.start(given.command, self._environment(given), log)).wait()

    @asynccontextmanager
    async def running(self, name: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
        """Run one of our processes; yields it, and where it says how it is."""
        pod, log = self._pod(name)
        given, address = container(self._objects, name), f"127.0.0.1:{free_port()}"
        environment = self._environment(given) | {"PARAMEDIC_READY_ADDRESS": address}
        process = await pod.start(given.command, environment, log)
        try:
            yield process, f"http://{address}"
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()

    def log(self, name: str) -> str:
        return (self._directory / f"{name}.log").read_text()

    def _pod(self, name: str) -> tuple[Pod, Path]:
        pod = Pod(self._directory / name / "files", self._directory / name / "data")
        pod.data.mkdir(parents=True)
        write_pair(pod.files / WEBHOOK)
        keys = pod.files / PAYLOAD_KEYS
        keys.parent.mkdir(parents=True)
        keys_file(keys, THIS_YEAR)
        account = pod.files / ACCOUNT.removeprefix("var/")
        account.mkdir(parents=True)
        if name in OURS:
            kubeconfig = json.loads(self._kubeconfig(name).read_text())
            authority = Path(kubeconfig["clusters"][0]["cluster"]["certificate-authority"])
            (account / "ca.crt").write_bytes(authority.read_bytes())
            (account / "token").write_text(kubeconfig["users"][0]["user"]["token"])
        return pod, self._directory / f"{name}.log"

    def _kubeconfig(self, name: str) -> Path:
        of = {
            "detector": self._control_plane.detector_kubeconfig,
            "worker": self._control_plane.worker_kubeconfig,
        }
        return of[name]

    def _environment(self, given: Container) -> dict[str, str]:
        """Its own variables, with the addresses of this machine, and what a kubelet adds."""
        assert given.environment["TEMPORAL_ADDRESS"] == "temporal-dev:7233"
        here = dict(given.environment) | {"TEMPORAL_ADDRESS": f"127.0.0.1:{self.temporal_port}"}
        if given.name not in OURS:
            return here
        if "PARAMEDIC_WEBHOOK_ADDRESS" in here:
            here["PARAMEDIC_WEBHOOK_ADDRESS"] = f"127.0.0.1:{self.webhook_port}"
        if is_confining():
            server = urlsplit(self._control_plane.server)
            return here | {
                "KUBERNETES_SERVICE_HOST": str(server.hostname),
                "KUBERNETES_SERVICE_PORT": str(server.port),
            }
        files = self._directory / given.name / "files"
        return here | {
            "KUBECONFIG": str(self._kubeconfig(given.name)),
            "PARAMEDIC_WEBHOOK_CERTIFICATE_DIRECTORY": str(files / WEBHOOK),
            "PARAMEDIC_PAYLOAD_KEYS_FILE": str(files / PAYLOAD_KEYS),
        }


@pytest.mark.cluster
async def test_all_containers_work_as_an_unnamed_user_on_a_read_only_root_and_end_in_time(
    together: tuple[Object, ...], control_plane: ControlPlane, tmp_path: Path
) -> None:
    installation = Installation(together, control_plane, tmp_path)
    async with installation.temporal():
        assert await installation.setup() == 0, installation.log("setup")
        async with (
            installation.running("detector") as (detector, its),
            installation.running("worker") as (worker, others),
        ):
            for process, address, name in ((detector, its, "detector"), (worker, others, "worker")):
                await until(
                    answers(process, f"{address}/readyz"),
                    within=PATIENCE,
                    otherwise=f"the {name} is not ready:\n{installation.log(name)}",
                )
                if is_confining():
                    assert writable_mounts(process.pid) == set()
                    assert capabilities(process.pid) == 0
            assert await speaks_tls(installation.webhook_port)

            grace = container(together, "worker").pod["terminationGracePeriodSeconds"]
            async with asyncio.timeout(grace):
                for process in (detector, worker):
                    process.send_signal(signal.SIGTERM)
                assert (await detector.wait(), await worker.wait()) == (0, 0)


def answers(process: asyncio.subprocess.Process, url: str) -> Callable[[], Awaitable[bool]]:
    async def asked() -> bool:
        assert process.returncode is None, f"it ended with {process.returncode}"
        with suppress(aiohttp.ClientConnectionError):
            async with aiohttp.ClientSession() as session, session.get(url) as answer:
                return answer.status == HTTPStatus.OK
        return False

    return asked


def writable_mounts(pid: int) -> set[str]:
    """Where a process finds a filesystem that it could write to, beside its volume."""
    rows = [line.split() for line in Path(f"/proc/{pid}/mountinfo").read_text().splitlines()]
    return {row[4] for row in rows if "rw" in row[5].split(",") and not row[4].startswith(NOT_READ_ONLY)}


def capabilities(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    (found,) = [line.split()[1] for line in status.splitlines() if line.startswith("CapEff:")]
    return int(found, base=16)


async def speaks_tls(port: int) -> bool:
    """True if a server presents a certificate on the port."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    shown = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.close()
    return bool(shown)
