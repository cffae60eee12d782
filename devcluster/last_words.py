"""What a program said last: the last line of its log, if it is of the program that runs now."""

import os
from pathlib import Path

ENOUGH_BYTES = 8192


class LastWords:
    """The last line that `log` gets from now on; what an earlier run left in it counts for nothing."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._began = log.stat().st_size if log.exists() else 0

    def read(self) -> str:
        """The line in quotes, or `nothing`."""
        if not self._log.exists():
            return "nothing"
        with self._log.open("rb") as log:
            end = log.seek(0, os.SEEK_END)
            log.seek(max(self._began, end - ENOUGH_BYTES))
            lines = log.read().decode(errors="replace").split("\n")
        said = [line.strip() for line in lines if line.strip()]
        return f"'{said[-1]}'" if said else "nothing"
