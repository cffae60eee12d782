"""What the tests of deploy/ ask the API server."""

from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path

import pytest
import yaml

from devcluster.control_plane import ControlPlane
from kube.resource import Object
from tests.deploy.overlays import DEPLOY
from tests.devcluster.kubectl import kubectl

STANDS_IN = Path(__file__).parent / "not_ours.yaml"
"""What installations rest on, and others install."""
Refusal = Callable[[Iterable[Object]], Awaitable[str]]


@pytest.fixture(scope="session")
async def full_control_plane(control_plane: ControlPlane) -> ControlPlane:
    """With what others install; nobody takes it away."""
    priority = DEPLOY / "base" / "priority-class.yaml"
    for arguments in (
        ("apply", "--server-side", "-f", str(STANDS_IN), "-f", str(priority)),
        ("wait", "--for=condition=Established", "crd", "--all"),
    ):
        status, said = await kubectl(control_plane.kubeconfig, *arguments)
        assert status == 0, said
    return control_plane


@pytest.fixture
async def refusal(full_control_plane: ControlPlane, tmp_path: Path) -> Refusal:
    """Asks whether objects would be taken as they stand, with no field that is unknown; "" if they are."""
    strictly = ("apply", "--server-side", "--force-conflicts", "--validate=strict", "--dry-run=server")

    async def asked(objects: Iterable[Object]) -> str:
        file = tmp_path / "objects.yaml"
        file.write_text(yaml.dump_all(objects, Dumper=yaml.CSafeDumper))
        status, said = await kubectl(full_control_plane.kubeconfig, *strictly, "-f", str(file))
        return said if status != 0 or "Warning" in said else ""

    return asked
