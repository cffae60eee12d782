"""kubectl for tests: what it answers, or why it refuses."""

import asyncio
from pathlib import Path

from devcluster import programs


async def kubectl(kubeconfig: Path, *arguments: str) -> tuple[int, str]:
    """The exit status, and everything that was printed."""
    command = (str(programs.kubectl()), "--kubeconfig", str(kubeconfig), *arguments)
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=asyncio.subprocess.STDOUT)
    output, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, output.decode().strip()
