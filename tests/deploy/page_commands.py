"""The commands of a page: which of them run here, and how a test runs them."""

import asyncio
import os
import re
from pathlib import Path

NOT_TRIED = "# not tried: "
BLOCK = re.compile(r"^( *)```sh\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


def blocks_of(page: str) -> list[str]:
    """The commands of a page, without the space that lists put before them."""
    return [
        "".join(line.removeprefix(found[1]) for line in found[2].splitlines(keepends=True))
        for found in BLOCK.finditer(page)
    ]


def tried(block: str) -> str:
    """The commands of a block without the lines that cannot run here."""
    return "".join(line for line in block.splitlines(keepends=True) if NOT_TRIED not in line)


def reasons(page: str) -> set[str]:
    """Why commands of the page cannot run here."""
    return {line.partition(NOT_TRIED)[2] for line in page.splitlines() if NOT_TRIED in line}


async def run(script: str, folder: Path, commands: Path, kubeconfig: Path) -> tuple[int, str]:
    """The exit status of a script, and all that it says."""
    process = await asyncio.create_subprocess_exec(
        "sh",
        "-c",
        script,
        cwd=folder,
        env={
            **os.environ,
            "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
            "KUBECONFIG": str(kubeconfig),
            "GOGC": "off",  # each command ends before it has much to clear away
        },
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, output.decode()
