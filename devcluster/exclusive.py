"""One `paramedic dev` per directory: two would write into each other's data."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from devcluster.errors import InUseError


@contextmanager
def exclusive(directory: Path) -> Iterator[None]:
    """Hold `directory`, which is there; the kernel lets go of it however we end.

    Raises InUseError when another process holds it.
    """
    with (directory / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InUseError(
                f"{directory} is in use by another paramedic dev: end that, or choose another --dir"
            ) from error
        yield
