"""Finds the Kubernetes servers: in `$KUBEBUILDER_ASSETS`, else in our cache, where they are built on demand.

`python -m devcluster.assets` fetches everything now, so that nothing later has to wait for it.
"""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from devcluster.errors import DevclusterError
from devcluster.go_programs import CONTROL_PLANE
from devcluster.progress import print_progress


@dataclass(frozen=True)
class Servers:
    """The command of each server, without its flags."""

    kube_apiserver: tuple[str, ...]
    kube_controller_manager: tuple[str, ...]
    etcd: tuple[str, ...]


def find() -> Servers:
    """Find the servers, each in the first place that has it.

    Raises BuildError if one is missing and cannot be built.
    """
    return Servers(
        kube_apiserver=_command("kube-apiserver"),
        kube_controller_manager=_command("kube-controller-manager"),
        etcd=_command("etcd"),
    )


def _command(name: str) -> tuple[str, ...]:
    folder = os.environ.get("KUBEBUILDER_ASSETS", "")
    given = Path(folder) / name
    if folder and given.exists():
        return (str(given),)
    return (str(CONTROL_PLANE.binary()), name)


def main() -> None:
    """Fetch or build missing servers; exit 1 with one sentence if that fails."""
    try:
        find()
    except DevclusterError as error:
        sys.exit(str(error))
    print_progress("the servers are in place")


if __name__ == "__main__":
    main()
