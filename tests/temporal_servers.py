"""A Temporal server that lives for as long as a block of a test; a cluster starts its own beside the rest."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from devcluster.layout import lay_out
from devcluster.supervisor import Supervisor
from devcluster.temporal import TemporalServer, start


@asynccontextmanager
async def temporal_server(directory: Path) -> AsyncIterator[TemporalServer]:
    """Run a Temporal server on `directory`, ready when the block begins, ended when it is left.

    Raises NotReadyError, HopelessError and MissingProgramError.
    """
    async with Supervisor() as supervisor:
        yield await start(supervisor, lay_out(directory))
