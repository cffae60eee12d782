"""The directory of one `paramedic dev`: its files, its ports, and a lock for exclusive use.

Two processes on one directory would corrupt each other's data. Ports are stored, so that servers keep their
addresses over a restart. They are below the range of ephemeral ports: a port in that range could be taken by
any client while its server restarts.
"""

import fcntl
import json
import secrets
import socket
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from devcluster.credentials import Credentials
from devcluster.errors import InUseError, OptionsError
from devcluster.files import write_json

PORT_RANGE = range(20_000, 32_000)
PORTS = ("etcd", "etcd-peers", "kube-apiserver", "temporal", "temporal-ui", "detector", "worker")


@contextmanager
def exclusive(directory: Path) -> Iterator[None]:
    """Lock `directory`, which must exist; the kernel releases the lock when the process ends.

    Raises InUseError if another process holds it.
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
    """True if a server could listen on the port now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def allocate(file: Path, names: Iterable[str], port_range: range = PORT_RANGE) -> Mapping[str, int]:
    """A free port for each name: the one stored in `file`, or a new one of the range if that is taken."""
    remembered: dict[str, int] = json.loads(file.read_text()) if file.exists() else {}
    for name in names:
        if name not in remembered or not is_free(remembered[name]):
            remembered[name] = _choose(port_range, taken=remembered.values())
    write_json(file, remembered)
    return remembered


def _choose(port_range: range, taken: Iterable[int]) -> int:
    while (port := secrets.choice(port_range)) in taken or not is_free(port):
        pass
    return port


@dataclass(frozen=True)
class Layout:
    """The files and ports of one dev directory."""

    directory: Path
    ports: Mapping[str, int]
    prefix: str = ""
    """The prefix of its program names, if it shares a supervisor with another directory."""

    @property
    def logs(self) -> Path:
        return self.directory / "logs"

    @property
    def audit_log(self) -> Path:
        return self.logs / "audit.log"

    @property
    def credentials(self) -> Credentials:
        return Credentials(self.directory / "credentials")

    @property
    def etcd_data(self) -> Path:
        return self.directory / "etcd"

    @property
    def temporal_data(self) -> Path:
        return self.directory / "temporal.db"

    @property
    def description(self) -> Path:
        """The file that describes a `paramedic dev` while it is ready."""
        return self.directory / "dev.json"

    def address(self, name: str) -> str:
        return f"127.0.0.1:{self.ports[name]}"

    def log(self, name: str) -> Path:
        return self.logs / f"{name}.log"


def lay_out(directory: Path, prefix: str = "", port_range: range = PORT_RANGE) -> Layout:
    """Prepare the files in `directory`; existing ones stay. For `prefix` see Layout."""
    directory = directory.absolute()
    directory.mkdir(parents=True, exist_ok=True)
    layout = Layout(directory, allocate(directory / "ports.json", PORTS, port_range), prefix)
    layout.logs.mkdir(exist_ok=True)
    layout.credentials.create()
    layout.credentials.write_kubeconfigs(f"https://{layout.address('kube-apiserver')}")
    return layout


def prepare(directory: Path) -> None:
    """Create `directory` if necessary, and check that it is writable.

    Raises SettingsError if it is not.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            return
    except OSError as error:
        raise OptionsError(f"--dir {directory} cannot be used: {error.strerror}") from error
