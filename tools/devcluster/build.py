"""Builds a program from Go modules, once for all checkouts.

The path of the binary contains a hash of its sources. Concurrent builders wait for each other, and a binary
appears under its name only when it is complete.
"""

import fcntl
import hashlib
import os
import platform
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import IO

from devcluster import go_toolchain
from devcluster.bound import bind
from devcluster.errors import BuildError
from devcluster.progress import in_words, print_progress

REPORT_EVERY = timedelta(seconds=5)


@dataclass(frozen=True, kw_only=True)
class GoProgram:
    """A Go program, and the progress messages for its build."""

    folder: Path
    """The folder of go.mod, go.sum and sources; it also names the binary."""
    package: str
    linker_flags: str
    title: str
    lasts: str
    """How long the build takes, for the message."""
    packages: str
    """The approximate number of packages to compile."""
    tags: str = ""
    """Build tags, with commas."""
    instead: str = ""
    """What else a person can do if the build fails."""

    @property
    def name(self) -> str:
        return self.folder.name

    def fingerprint(self) -> str:
        """A hash of sources and kind of machine, so that another binary is never reused."""
        digest = hashlib.sha256(f"{platform.system()} {platform.machine()}".encode())
        for file in sorted([*self.folder.glob("*.go"), self.folder / "go.mod", self.folder / "go.sum"]):
            digest.update(f"{file.name} ".encode() + file.read_bytes())
        return digest.hexdigest()[:12]

    def binary(self) -> Path:
        """The binary of the present sources; the first call takes minutes.

        Raises BuildError if it cannot be built.
        """
        built = go_toolchain.cache_directory() / self.name / self.fingerprint() / self.name
        if built.exists():
            return built
        built.parent.mkdir(parents=True, exist_ok=True)
        with _only_one(built.with_suffix(".lock"), self.title):
            if not built.exists():
                _build(self, built)
        return built


def required_version(folder: Path, module: str) -> str:
    """The version of a module in a folder's go.mod, such as `v1.36.3`."""
    found = re.search(rf"^\s*{re.escape(module)} (v\S+)", (folder / "go.mod").read_text(), re.MULTILINE)
    assert found, f"{folder}/go.mod requires {module}"
    return found.group(1)


@contextmanager
def _only_one(file: Path, title: str) -> Iterator[None]:
    with file.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print_progress(f"another process builds {title}: waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(program: GoProgram, built: Path) -> None:
    go = go_toolchain.find()
    log = built.with_suffix(".log")
    partial = built.with_suffix(".partial")
    print_progress(
        f"building {program.title} from its sources: the first time only, {program.lasts} on 2 cores"
    )
    with log.open("w") as output, _compile(program, go, partial, output) as process:
        status = _report_until_done(program, process, log)
    if status != 0:
        why = f"{program.title} could not be built: see why in {log}, then try again"
        raise BuildError(f"{why}, or {program.instead}" if program.instead else why)
    partial.replace(built)


def _compile(program: GoProgram, go: Path, target: Path, output: IO[str]) -> subprocess.Popen[bytes]:
    flags = ["-v", "-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags", program.linker_flags]
    flags += ["-tags", program.tags] if program.tags else []
    return subprocess.Popen(  # noqa: S603  a fixed command
        # Without `bind`, an orphaned build could write into the file of the next one.
        bind([str(go), "build", *flags, "-o", str(target), program.package]),
        cwd=program.folder,
        env={**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOWORK": "off"},
        stdout=output,
        stderr=output,
    )


def _report_until_done(program: GoProgram, process: subprocess.Popen[bytes], log: Path) -> int:
    began = time.monotonic()
    while True:
        try:
            return process.wait(REPORT_EVERY.total_seconds())
        except subprocess.TimeoutExpired:
            elapsed = in_words(timedelta(seconds=time.monotonic() - began))
            print_progress(f"  {elapsed}: {_progress(program, log.read_text().splitlines())}")


def _progress(program: GoProgram, lines: list[str]) -> str:
    downloaded = sum(line.startswith("go: downloading") for line in lines)
    compiled = len(lines) - downloaded
    return f"{downloaded} modules downloaded, {compiled} of about {program.packages} packages compiled"
