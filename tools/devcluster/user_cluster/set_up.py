"""Creates what the demo needs in the user's cluster, each object with the label of the demo.

CRDs and a namespace that exist already are used as they are, and stay.
"""

from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import yaml

from devcluster.demo.fixtures import NodeFixtures
from devcluster.manifests import ROOT
from devcluster.polling import until
from devcluster.simulation.resources import DEFINITIONS
from devcluster.user_cluster.names import CHECK, KINDS, LABELS, NAMESPACE
from kube.client import Client
from kube.discovery import Discovery
from kube.errors import AlreadyExists, KindUnknown
from kube.resource import NAMESPACES, Object
from kube.transport import Transport

NODES = 3
"""One of them fails: few for the user's cluster, and enough for a threshold of 51 %."""
FOLDERS = (ROOT / "deploy" / "base" / "crds", ROOT / "tools" / "devcluster" / "crds")
SERVED_WITHIN = timedelta(seconds=60)
FIXTURES = NodeFixtures(
    check=CHECK,
    namespace=NAMESPACE,
    nodes=NODES,
    selector={"matchLabels": dict(LABELS)},
    labels=LABELS,
)
"""The check of the demo selects the simulated Nodes alone; the guard lets no other one pass."""


def namespace() -> Object:
    return {
        "apiVersion": NAMESPACES.api_version,
        "kind": NAMESPACES.kind,
        "metadata": {"name": NAMESPACE, "labels": dict(LABELS)},
    }


def definitions() -> list[Object]:
    """The CRDs of the kinds that the demo needs, with its label."""
    wanted = {kind.full_name for kind in KINDS}
    files = (file for folder in FOLDERS for file in sorted(Path(folder).glob("*.yaml")))
    found = (definition for file in files for definition in yaml.safe_load_all(file.read_text()))
    return [_labelled(definition) for definition in found if definition["metadata"]["name"] in wanted]


def _labelled(body: Object) -> Object:
    metadata = body["metadata"]
    return body | {"metadata": metadata | {"labels": {**metadata.get("labels", {}), **LABELS}}}


async def install_definitions(transport: Transport, client: Client) -> None:
    """Create missing CRDs; return when all kinds are served.

    Raises NotReadyError and KubernetesError.
    """
    for definition in definitions():
        with suppress(AlreadyExists):
            await client.create(DEFINITIONS, definition)

    async def are_served() -> bool:
        discovery = Discovery(transport)
        try:
            for kind in KINDS:
                await discovery.resource(kind.api_version, kind.kind)
        except KindUnknown:
            return False
        return True

    names = ", ".join(kind.full_name for kind in KINDS)
    await until(are_served, within=SERVED_WITHIN, otherwise=f"the cluster does not serve {names}")
