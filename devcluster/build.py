"""Build the control plane once: etcd, kube-apiserver and kube-controller-manager in one binary.

Builders wait for each other, and what they build appears under its name when it is whole.
"""

import fcntl
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import IO

from devcluster import cache, go_toolchain, sources
from devcluster.bound import bind
from devcluster.errors import BuildError
from devcluster.progress import in_words, say

REPORT_EVERY = timedelta(seconds=5)


def binary() -> Path:
    """The binary built from the sources as they are now; the first call takes minutes.

    Raises BuildError when it cannot be built.
    """
    built = cache.directory() / "controlplane" / sources.fingerprint() / "controlplane"
    if built.exists():
        return built
    built.parent.mkdir(parents=True, exist_ok=True)
    with _only_one(built.with_suffix(".lock")):
        if not built.exists():
            _build(built)
    return built


@contextmanager
def _only_one(file: Path) -> Iterator[None]:
    with file.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another process builds the control plane: waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(built: Path) -> None:
    go = go_toolchain.find()
    log = built.with_suffix(".log")
    partial = built.with_suffix(".partial")
    say("building Kubernetes' control plane from its sources: the first time only, 4 to 6 minutes on 2 cores")
    with log.open("w") as output, _compile(go, partial, output) as process:
        status = _report_until_done(process, log)
    if status != 0:
        raise BuildError(
            f"the control plane could not be built: see why in {log}, then try again, or point "
            f"KUBEBUILDER_ASSETS to a folder with kube-apiserver, etcd and kube-controller-manager"
        )
    partial.replace(built)


def _compile(go: Path, target: Path, output: IO[str]) -> subprocess.Popen[bytes]:
    flags = ["-v", "-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags", sources.linker_flags()]
    return subprocess.Popen(  # noqa: S603  nothing in it is a stranger's
        bind(
            [str(go), "build", *flags, "-o", str(target), "."]
        ),  # an orphan would build into the next one's file
        cwd=sources.FOLDER,
        env={**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOWORK": "off"},
        stdout=output,
        stderr=output,
    )


def _report_until_done(process: subprocess.Popen[bytes], log: Path) -> int:
    began = time.monotonic()
    while True:
        try:
            return process.wait(REPORT_EVERY.total_seconds())
        except subprocess.TimeoutExpired:
            elapsed = in_words(timedelta(seconds=time.monotonic() - began))
            say(f"  {elapsed}: {_progress(log.read_text().splitlines())}")


def _progress(lines: list[str]) -> str:
    downloaded = sum(line.startswith("go: downloading") for line in lines)
    return f"{downloaded} modules downloaded, {len(lines) - downloaded} of about 2,500 packages compiled"
