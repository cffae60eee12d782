"""Which file of a dev directory is what, and which port serves what."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from devcluster.credentials import Credentials
from devcluster.ports import allocate

PORTS = ("etcd", "etcd-peers", "kube-apiserver", "temporal", "temporal-ui", "detector", "worker")


@dataclass(frozen=True)
class Layout:
    """One dev directory."""

    directory: Path
    ports: Mapping[str, int]

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


def lay_out(directory: Path) -> Layout:
    """Make `directory` ready for use; what is there stays."""
    directory = directory.absolute()
    directory.mkdir(parents=True, exist_ok=True)
    layout = Layout(directory, allocate(directory / "ports.json", PORTS))
    layout.logs.mkdir(exist_ok=True)
    layout.credentials.create()
    layout.credentials.write_kubeconfigs(f"https://{layout.address('kube-apiserver')}")
    return layout
