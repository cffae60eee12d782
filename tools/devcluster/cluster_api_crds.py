"""Installs the stand-in CRDs of Cluster API, in both versions or in v1beta1 alone.

`python -m devcluster.cluster_api_crds --kubeconfig FILE v1beta1` applies them.

They may be applied again while controllers run, as an upgrade or downgrade of Cluster API does: that changes
the served versions and the storage version.
"""

import argparse
import asyncio
import sys
from collections.abc import Iterator, Sequence
from datetime import timedelta
from enum import StrEnum
from pathlib import Path

import yaml

from devcluster.errors import DevclusterError, NotReadyError
from devcluster.manifests import AS_KUBECTL, SERVER_SIDE
from devcluster.polling import until
from devcluster.simulation.resources import DEFINITIONS
from kube.discovery import Discovery
from kube.errors import KindUnknown, KubernetesError
from kube.resource import Object
from kube.transport import Transport

FOLDER = Path(__file__).parent / "crds" / "cluster-api"
PATIENCE = timedelta(seconds=60)


class NewestVersion(StrEnum):
    """The newest served version of Cluster API's kinds."""

    V1BETA2 = "v1beta2"
    """Stored in this version; v1beta1 is served, too."""
    V1BETA1 = "v1beta1"
    """The only version, as of Cluster API before v1.11."""


def definitions(newest: NewestVersion = NewestVersion.V1BETA2) -> Iterator[Object]:
    """Read the CRDs, with `newest` as the stored version, served together with older ones."""
    for file in sorted(FOLDER.glob("*.yaml")):
        definition: Object = yaml.safe_load(file.read_text())
        for version in definition["spec"]["versions"]:
            version["served"] = version["name"] <= newest
            version["storage"] = version["name"] == newest
        yield definition


async def apply(kubeconfig: Path, newest: NewestVersion = NewestVersion.V1BETA2) -> None:
    """Install the CRDs, or switch their versions; return when exactly those versions are served.

    Raises NotReadyError, with the API server's message if it refuses, and KubernetesError.
    """
    wanted = list(definitions(newest))
    async with await Transport.connect(str(kubeconfig)) as transport:
        for definition in wanted:
            await _apply(transport, definition)

        async def are_switched() -> bool:
            return all([await _is_switched(transport, definition) for definition in wanted])

        sentence = f"Cluster API is not served in {newest} as its newest version"
        await until(are_switched, within=PATIENCE, otherwise=sentence)


async def _apply(transport: Transport, definition: Object) -> None:
    """Apply as `kubectl apply --server-side`, and so as the same field manager as `manifests`."""
    path = DEFINITIONS.path(name=definition["metadata"]["name"])
    query = tuple(AS_KUBECTL.items())
    try:
        await transport.request("PATCH", path, query=query, body=definition, content_type=SERVER_SIDE)
    except KubernetesError as error:
        raise NotReadyError(f"Cluster API cannot be installed: {error}") from error


async def _is_switched(transport: Transport, definition: Object) -> bool:
    spec = definition["spec"]
    for version in spec["versions"]:
        api_version = f"{spec['group']}/{version['name']}"
        if version["served"] != await _is_served(transport, api_version, spec["names"]["kind"]):
            return False
    return True


async def _is_served(transport: Transport, api_version: str, kind: str) -> bool:
    try:
        await Discovery(transport).resource(api_version, kind)
    except KindUnknown:
        return False
    return True


def main(arguments: Sequence[str] | None = None) -> None:
    """Apply the CRDs; exit with one sentence if that fails."""
    parser = argparse.ArgumentParser(prog="cluster_api_crds", description="Stand-in CRDs of Cluster API.")
    parser.add_argument("--kubeconfig", type=Path, required=True, help="kubeconfig of the management cluster")
    parser.add_argument(
        "newest", choices=[*NewestVersion], type=NewestVersion, help="newest version to serve"
    )
    options = parser.parse_args(arguments)
    try:
        asyncio.run(apply(options.kubeconfig, options.newest))
    except (DevclusterError, KubernetesError) as error:
        sys.exit(f"cluster_api_crds: {error}")


if __name__ == "__main__":
    main()
