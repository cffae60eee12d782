"""What tests ask about other processes."""

from datetime import timedelta
from pathlib import Path

from devcluster.polling import until


def runs(pid: int) -> bool:
    """Whether there is such a process; one that has ended and was not waited for is none."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] not in {"Z", "X"}


async def gone(pid: int) -> None:
    """Return when the process has ended."""

    async def ended() -> bool:
        return not runs(pid)

    await until(ended, within=timedelta(seconds=60), otherwise=f"process {pid} still runs")
