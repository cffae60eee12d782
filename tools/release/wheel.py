"""Builds the wheel of a source tree, reproducibly: the same bytes for the same files and time."""

import os
import subprocess
import sys
import tomllib
from datetime import datetime
from pathlib import Path

from release.errors import ReleaseError


def version_of(source: Path) -> str:
    project = tomllib.loads((source / "pyproject.toml").read_text())["project"]
    return str(project["version"])


def build(source: Path, into: Path, time: datetime) -> Path:
    """Build the wheel; its files are dated `time`.

    Raises ReleaseError with the message of the build if it fails.
    """
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(into)]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(int(time.timestamp()))}
    built = subprocess.run(  # noqa: S603  a fixed command
        command, cwd=source, env=environment, capture_output=True, text=True, check=False
    )
    if built.returncode != 0:
        raise ReleaseError(f"the wheel cannot be built: {built.stderr.strip()}")
    return into / f"paramedic-{version_of(source)}-py3-none-any.whl"
