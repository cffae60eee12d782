"""`paramedic list --watch` on a real terminal, with keys, against a real Temporal server."""

import asyncio
import fcntl
import os
import pty
import struct
import termios

from devcluster.temporal import TemporalServer
from health.model.moves import Phase
from tests.support.cluster.command import PARAMEDIC, drain, until_drawn
from tests.support.story.fleet import Fleet
from tests.support.values.observations import expired


async def test_keys_hold_an_incident_with_a_reason_and_quit(
    fleet: Fleet, temporal_server: TemporalServer
) -> None:
    await fleet.fail("node-1", expired())
    await fleet.reaches("node-1", Phase.REMEDIATING)
    await fleet.listed("Running", 1)
    environment = os.environ | {
        **temporal_server.environment,
        "TERM": "xterm-256color",
    }
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    process = await asyncio.create_subprocess_exec(
        *(PARAMEDIC, "list", "--watch", "--cluster", fleet.cluster),
        env=environment,
        stdin=its,
        stdout=its,
        stderr=its,
    )
    os.close(its)
    try:
        await until_drawn(ours, "1 Remediating")
        os.write(ours, b"h")
        await until_drawn(ours, "reason")
        os.write(ours, b"disk swap\r")
        await until_drawn(ours, "until resume")
        state = await fleet.state("node-1")
        assert state.memory.held is not None
        assert state.memory.held.reason == "disk swap"
        os.write(ours, b"q")
        # A terminal goes on reading: the view would hang while it draws to a full one.
        drained = asyncio.create_task(asyncio.to_thread(drain, ours))
        async with asyncio.timeout(60):
            assert await process.wait() == 0
            await drained
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        os.close(ours)
