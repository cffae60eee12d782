"""OtherNetwork: a network namespace beside ours and a cable to it, which can be pulled.

Packets into a pulled cable are lost without FIN or RST, which loopback cannot imitate. Needs root and the
`ip` command; `other_network` yields None where the machine does not allow it.
"""

import asyncio
import ctypes
import os
import shutil
import socket
import threading
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

_CLONE_NEWNET = 0x40000000
_NETWORKS = 64  # of four addresses each, in the range that is set aside for tests of networks


class OtherNetwork:
    """One namespace, named `name`, and what its end of the cable is called."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._ours, self._theirs = f"{name}a", f"{name}b"
        number = int(name[-4:], 16) % _NETWORKS * 4
        self._our_address, self.address = f"198.18.254.{number + 1}", f"198.18.254.{number + 2}"

    async def lay_cable(self) -> bool:
        """True if the machine allows network namespaces and a cable between them."""
        return all(
            [
                await ip(f"netns add {self.name}"),
                await ip(f"link add {self._ours} type veth peer name {self._theirs} netns {self.name}"),
                await ip(f"addr add {self._our_address}/30 dev {self._ours}"),
                await ip(f"link set {self._ours} up"),
                await ip(f"-n {self.name} addr add {self.address}/30 dev {self._theirs}"),
                await ip(f"-n {self.name} link set {self._theirs} up"),
            ]
        )

    async def pull_cable(self) -> None:
        assert await ip(f"-n {self.name} link set {self._theirs} down")

    async def plug_cable(self) -> None:
        assert await ip(f"-n {self.name} link set {self._theirs} up")

    async def remove(self) -> None:
        """Leave nothing behind: the cable goes with the namespace, at once only if it goes first."""
        await ip(f"link del {self._ours}")
        await ip(f"netns del {self.name}")

    def listen(self) -> socket.socket:
        """A socket that listens in the other network; a thread of its own goes there to make it."""
        made: list[socket.socket] = []

        def enter_and_listen() -> None:
            with Path("/run/netns", self.name).open() as namespace:
                libc = ctypes.CDLL(None, use_errno=True)
                if libc.setns(namespace.fileno(), _CLONE_NEWNET) != 0:
                    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
            made.append(socket.create_server((self.address, 0)))

        thread = threading.Thread(target=enter_and_listen)
        thread.start()
        thread.join()
        return made[0]


@asynccontextmanager
async def other_network() -> AsyncIterator[OtherNetwork | None]:
    network = OtherNetwork(f"pm{uuid.uuid4().hex[:8]}")
    try:
        yield network if await network.lay_cable() else None
    finally:
        await network.remove()


async def ip(arguments: str) -> bool:
    program = shutil.which("ip")
    if program is None:
        return False
    null = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(program, *arguments.split(), stdout=null, stderr=null)
    return await process.wait() == 0
