"""Finds the Kubernetes servers: in `$KUBEBUILDER_ASSETS` or on PATH, else in our cache, built on demand.

The servers of a person are used together or not at all, because servers of different versions may not work
together. Assets of envtest have no kube-controller-manager, which the demo needs: it notices silent nodes.

`python -m devcluster.assets` fetches everything now, so that nothing later has to wait for it.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from devcluster.errors import DevclusterError
from devcluster.go_programs import CONTROL_PLANE
from devcluster.progress import print_progress

API_SERVER, CONTROLLER_MANAGER, ETCD = NAMES = ("kube-apiserver", "kube-controller-manager", "etcd")
VARIABLE = "KUBEBUILDER_ASSETS"
OLDEST_KUBERNETES = (1, 30)
"""Paramedic's admission policies and CRDs need it."""
OLDEST_ETCD = (3, 5)
"""Older versions do not report the progress of watches, which consistent reads from the cache need."""
ANSWER_WITHIN = timedelta(seconds=20)
_VERSION = re.compile(r"(?:Kubernetes v|etcd Version: )(\d+)\.(\d+)\.")

Version = tuple[int, int]


@dataclass(frozen=True)
class Servers:
    """The command of each server, without its flags."""

    kube_apiserver: tuple[str, ...]
    kube_controller_manager: tuple[str, ...]
    etcd: tuple[str, ...]


class _UnfitError(Exception):
    """Why the servers of a person cannot be used, as the beginning of a sentence."""


def find() -> Servers:
    """Find the servers, all in the first place where they fit.

    Raises BuildError if they have to be built and that fails.
    """
    programs = {name: path for name in NAMES if (path := _locate(name))}
    if not os.environ.get(VARIABLE) and API_SERVER not in programs:
        return _ours()
    try:
        return _fitting(programs)
    except _UnfitError as why:
        print_progress(f"{why}: the servers in the cache of Paramedic are used instead")
        return _ours()


def _ours() -> Servers:
    binary = str(CONTROL_PLANE.binary())
    return Servers(*((binary, name) for name in NAMES))


def _locate(name: str) -> str | None:
    folder = os.environ.get(VARIABLE, "")
    return (shutil.which(name, path=folder) if folder else None) or shutil.which(name)


def _fitting(programs: Mapping[str, str]) -> Servers:
    folder = os.environ.get(VARIABLE, "")
    for name in NAMES:
        if name not in programs:
            raise _UnfitError(f"there is no {name} {f'in {VARIABLE}={folder} or ' if folder else ''}on PATH")
    versions = {name: _version(programs[name]) for name in NAMES}
    for name, oldest in ((API_SERVER, OLDEST_KUBERNETES), (ETCD, OLDEST_ETCD)):
        if versions[name] < oldest:
            found = f"{programs[name]} has version {_dotted(versions[name])}"
            raise _UnfitError(f"{found}, older than {_dotted(oldest)}")
    manager, api_server = versions[CONTROLLER_MANAGER], versions[API_SERVER]
    if manager != api_server:
        found = f"{programs[CONTROLLER_MANAGER]} has version {_dotted(manager)}"
        raise _UnfitError(f"{found}, and {programs[API_SERVER]} has {_dotted(api_server)}")
    return Servers(*((programs[name],) for name in NAMES))


def _version(program: str) -> Version:
    try:
        answer = subprocess.run(  # noqa: S603  a server that the person provides
            [program, "--version"],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=ANSWER_WITHIN.total_seconds(),
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _UnfitError(f"{program} --version failed ({type(error).__name__})") from error
    found = _VERSION.search(answer.stdout)
    if answer.returncode != 0 or found is None:
        raise _UnfitError(f"{program} --version states no version")
    return int(found[1]), int(found[2])


def _dotted(version: Version) -> str:
    return ".".join(map(str, version))


def main() -> None:
    """Fetch or build missing servers; exit 1 with one sentence if that fails."""
    try:
        find()
    except DevclusterError as error:
        sys.exit(str(error))
    print_progress("the servers are in place")


if __name__ == "__main__":
    main()
