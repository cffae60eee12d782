"""Looks up other processes for tests."""

from datetime import timedelta
from pathlib import Path

from devcluster.polling import until


def runs(pid: int) -> bool:
    """True if the process exists; a zombie does not count."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] not in {"Z", "X"}


async def gone(pid: int) -> None:
    async def ended() -> bool:
        return not runs(pid)

    await until(ended, within=timedelta(seconds=60), otherwise=f"process {pid} still runs")
