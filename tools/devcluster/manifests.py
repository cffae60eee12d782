"""Installs what Paramedic needs in a cluster as a user would: `kubectl apply` of `deploy/` and our stand-ins.

Server-side apply works the same on an empty cluster, and over the same or an older version.
"""

import asyncio
import os
from collections.abc import Collection, Sequence
from pathlib import Path
from types import MappingProxyType

from devcluster import programs
from devcluster.errors import NotReadyError
from health.kinds.registry import CHECK_KINDS

ROOT = Path(__file__).parents[2]
SERVER_SIDE = "application/apply-patch+yaml"
AS_KUBECTL = MappingProxyType({"fieldManager": "kubectl", "force": "true", "fieldValidation": "Strict"})
"""The parameters of `kubectl apply --server-side --force-conflicts`, for code that applies one object."""
NAMESPACES = ROOT / "deploy" / "base" / "namespaces.yaml"
CLUSTER_API_CRDS = ROOT / "tools" / "devcluster" / "crds" / "cluster-api"
FOLDERS = (
    ROOT / "deploy" / "base" / "crds",
    ROOT / "deploy" / "base" / "rbac",
    ROOT / "tools" / "devcluster" / "crds",
    CLUSTER_API_CRDS,
)
EVIDENCE = tuple(
    ROOT / "deploy" / "components" / "evidence" / name for name in ("rights.yaml", "admission-policy.yaml")
)
OF_KINDS = tuple(
    dict.fromkeys(
        ROOT / file for kind in CHECK_KINDS.values() for file in (*kind.roles, *kind.upgrade_pause_roles)
    )
)
"""Manifests that kinds of check need beyond `deploy/base/rbac`."""


async def install(kubeconfig: Path, more: Sequence[Path] = (), without: Collection[Path] = ()) -> None:
    """Apply namespaces, CRDs, RBAC and `more` with `kubeconfig`; return when all CRDs are served.

    Folders in `without` are left out.

    Raises NotReadyError with kubectl's message if the cluster refuses.
    """
    await apply(kubeconfig, [*files(without), *more])


def files(without: Collection[Path] = ()) -> list[Path]:
    """The files that `install` applies, in this order."""
    folders = [folder for folder in FOLDERS if folder not in without]
    of_folders = (file for folder in folders for file in sorted(folder.glob("*.yaml")))
    return [NAMESPACES, *of_folders, *EVIDENCE, *OF_KINDS]


async def apply(kubeconfig: Path, files: Sequence[Path]) -> None:
    """Apply these manifests; return when all CRDs of the cluster are served. Raises as `install`."""
    arguments = [argument for file in files for argument in ("-f", str(file))]
    await _kubectl(kubeconfig, ["apply", "--server-side", "--force-conflicts", *arguments])
    await _kubectl(kubeconfig, ["wait", "--for=condition=Established", "crd", "--all"])


async def _kubectl(kubeconfig: Path, arguments: Sequence[str]) -> None:
    process = await asyncio.create_subprocess_exec(
        programs.kubectl(),
        *arguments,
        env={**os.environ, "KUBECONFIG": str(kubeconfig)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    if process.returncode != 0:
        last = output.decode().strip().rpartition("\n")[2]
        raise NotReadyError(f"kubectl {arguments[0]} failed: {last}")
