import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from devcluster.control_plane import ControlPlane
from kube.transport import Transport


@pytest.fixture
def control() -> Iterator[Path]:
    """A path short enough for a unix socket, wherever pytest keeps its own directories."""
    directory = Path(tempfile.mkdtemp(prefix="kubelets-"))
    yield directory / "control.sock"
    shutil.rmtree(directory)


@pytest.fixture(scope="module")
async def transport(control_plane: ControlPlane) -> AsyncIterator[Transport]:
    async with await Transport.connect(str(control_plane.kubeconfig)) as connected:
        yield connected
