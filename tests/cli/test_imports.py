"""What the command needs, to be installed without the extras of development."""

import asyncio
import sys
from asyncio.subprocess import PIPE

PROGRAM = "import cli.main, sys; print(*sorted({name.partition('.')[0] for name in sys.modules}))"


async def test_operation_loads_nothing_of_development() -> None:
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", PROGRAM, stdout=PIPE)
    out, _ = await process.communicate()
    loaded = set(out.decode().split())
    assert {"cli", "temporalio"} <= loaded
    assert not loaded & {"devcluster", "hypothesis", "pytest"}
