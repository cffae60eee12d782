"""API server requests of the tests of deploy/."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from pathlib import Path

import pytest
import yaml

from devcluster.control_plane import ControlPlane
from kube.resource import Object
from tests.deploy.applying import api_server
from tests.deploy.overlays import DEPLOY
from tests.support.cluster.prepared import until_served

STANDS_IN = Path(__file__).parent / "not_ours.yaml"
"""What installations rest on, and others install."""
Refusal = Callable[[Iterable[Object]], Awaitable[str]]


@pytest.fixture(scope="session")
async def full_control_plane(control_plane: ControlPlane) -> ControlPlane:
    """The control plane with the objects of other installers, which stay to the end."""
    async with api_server(control_plane.kubeconfig) as asked:
        for file in (STANDS_IN, DEPLOY / "base" / "priority-class.yaml"):
            for document in yaml.safe_load_all(file.read_text()):
                assert await asked.apply(document) == ""
    await until_served(control_plane)
    return control_plane


@pytest.fixture
async def refusal(full_control_plane: ControlPlane) -> AsyncIterator[Refusal]:
    """Asks whether objects would be taken as they stand, with no field that is unknown; "" if they are."""
    async with api_server(full_control_plane.kubeconfig) as asked:

        async def said_of(objects: Iterable[Object]) -> str:
            return "".join([await asked.apply(document, is_tried=True) for document in objects])

        yield said_of
