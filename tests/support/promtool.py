"""Runs promtool, which reads rules and evaluates expressions as Prometheus does."""

import asyncio

from devcluster.go_programs import PROMTOOL


async def promtool(*arguments: str) -> tuple[int, str]:
    """Return its exit status, and its output on both streams."""
    process = await asyncio.create_subprocess_exec(
        PROMTOOL.binary(), *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    out, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode()
