from collections.abc import AsyncIterator

import pytest

from devcluster.control_plane import ControlPlane
from kube.transport import Transport


@pytest.fixture(scope="module")
async def transport(control_plane: ControlPlane) -> AsyncIterator[Transport]:
    async with await Transport.connect(str(control_plane.kubeconfig)) as connected:
        yield connected
