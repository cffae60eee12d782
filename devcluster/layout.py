"""The directory of one `paramedic dev`: which file is what, which port serves what, and nobody else in it.

Two on one directory would write into each other's data. Ports are remembered, so that a restart is found at
the same addresses. They come from below the range from which the kernel takes the ports of outgoing
connections: one from that range can be taken by any client in the moment in which its server is down.
"""

import fcntl
import json
import os
import secrets
import socket
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from devcluster.credentials import Credentials
from devcluster.errors import InUseError, SettingsError
from devcluster.files import write_json
from devcluster.simulation.control_socket import CONTROL_SOCKET

FIRST_PORT = 20_000
PORT_COUNT = 12_000
PORTS = ("etcd", "etcd-peers", "kube-apiserver", "temporal", "temporal-ui", "detector", "worker")
LONGEST_SOCKET_PATH = 103
"""Bytes: what macOS takes; Linux takes 107. A longer path is no address."""


@contextmanager
def exclusive(directory: Path) -> Iterator[None]:
    """Hold `directory`, which is there; the kernel lets go of it however we end.

    Raises InUseError when another process holds it.
    """
    with (directory / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InUseError(
                f"{directory} is in use by another paramedic dev: end that, or choose another --dir"
            ) from error
        yield


def is_free(port: int) -> bool:
    """Whether a server could listen there now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def allocate(file: Path, names: Iterable[str]) -> Mapping[str, int]:
    """One free port per name: the one that `file` remembers, or a new one where that is taken."""
    remembered: dict[str, int] = json.loads(file.read_text()) if file.exists() else {}
    for name in names:
        if name not in remembered or not is_free(remembered[name]):
            remembered[name] = _choose(taken=remembered.values())
    write_json(file, remembered)
    return remembered


def _choose(taken: Iterable[int]) -> int:
    while (port := FIRST_PORT + secrets.randbelow(PORT_COUNT)) in taken or not is_free(port):
        pass
    return port


@dataclass(frozen=True)
class Layout:
    """One dev directory."""

    directory: Path
    ports: Mapping[str, int]
    prefix: str = ""
    """Begins the name of each of its programs, under a supervisor that runs those of others, too."""

    @property
    def logs(self) -> Path:
        """Where each program's output goes, one file per program."""
        return self.directory / "logs"

    @property
    def audit_log(self) -> Path:
        """Where kube-apiserver writes who did what."""
        return self.logs / "audit.log"

    @property
    def credentials(self) -> Credentials:
        """Keys, tokens and kubeconfigs."""
        return Credentials(self.directory / "credentials")

    @property
    def etcd_data(self) -> Path:
        """Everything that Kubernetes knows."""
        return self.directory / "etcd"

    @property
    def temporal_data(self) -> Path:
        """Everything that Temporal knows."""
        return self.directory / "temporal.db"

    @property
    def kubelets_socket(self) -> Path:
        """Where the simulated kubelets are told what to do."""
        return self.directory / "kubelets.sock"

    @property
    def description(self) -> Path:
        """What `paramedic dev` tells others, while it is ready."""
        return self.directory / "dev.json"

    def address(self, name: str) -> str:
        """`host:port` of the server `name`."""
        return f"127.0.0.1:{self.ports[name]}"

    def log(self, name: str) -> Path:
        """The log of the program `name`."""
        return self.logs / f"{name}.log"


def lay_out(directory: Path, prefix: str = "") -> Layout:
    """Make `directory` ready for use; what is there stays. For `prefix` see Layout."""
    directory = directory.absolute()
    directory.mkdir(parents=True, exist_ok=True)
    layout = Layout(directory, allocate(directory / "ports.json", PORTS), prefix)
    layout.logs.mkdir(exist_ok=True)
    layout.credentials.create()
    layout.credentials.write_kubeconfigs(f"https://{layout.address('kube-apiserver')}")
    return layout


def prepare(directory: Path) -> None:
    """Make `directory` if need be, and see that it can be used.

    Raises SettingsError when it cannot.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            return
    except OSError as error:
        raise SettingsError(f"--dir {directory} cannot be used: {error.strerror}") from error


def require_room_for_socket(directory: Path) -> None:
    """Raise SettingsError when the path is too long for the socket of the simulated kubelets."""
    room = LONGEST_SOCKET_PATH - len(os.fsencode(f"/{CONTROL_SOCKET}"))
    length = len(os.fsencode(directory.absolute()))
    if length > room:
        raise SettingsError(
            f"--dir {directory} is too long for simulated nodes: "
            f"their socket leaves room for {room} bytes, and its path has {length}"
        )
