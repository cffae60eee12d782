"""Run a container's program on this machine, as much as this machine can as a kubelet would.

Where the kernel lets us have namespaces, the root filesystem is read-only, what the Pod mounts is where it
says, and the user is a number without a name or a capability, as on OpenShift. Elsewhere (macOS) the same
command runs with the same environment, as us.
"""

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from devcluster.bound import bind

SCRIPT = Path(__file__).parent / "as_container.sh"
UID = 1_000_680_000
"""Such as OpenShift chooses."""
NAMESPACES = ("unshare", "--user", "--map-root-user", "--mount", "--")


@cache
def is_confining() -> bool:
    """True if the kernel of this machine allows namespaces."""
    if sys.platform != "linux" or shutil.which(NAMESPACES[0]) is None:
        return False
    tried = (*NAMESPACES, "mount", "--bind", "/", "/mnt")
    return subprocess.run(tried, capture_output=True, check=False).returncode == 0  # noqa: S603  ours


@dataclass(frozen=True)
class Pod:
    """The view of a program in its container."""

    files: Path
    """The root of what is mounted, read-only."""
    data: Path
    """The volume that it may write to."""

    @property
    def volume(self) -> str:
        return "/mnt" if is_confining() else str(self.data)

    async def start(
        self, command: Sequence[str], environment: Mapping[str, str], log: Path
    ) -> asyncio.subprocess.Process:
        """Start it; it ends with us at the latest."""
        bound = bind(command)
        confined = (*NAMESPACES, "sh", str(SCRIPT), str(UID), str(self.files), str(self.data), *bound)
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        with log.open("ab") as output:
            return await asyncio.create_subprocess_exec(
                *(confined if is_confining() else bound),
                # No more than a container has.
                env={"PATH": path, "HOME": "/", **environment},
                stdout=output,
                stderr=output,
            )
