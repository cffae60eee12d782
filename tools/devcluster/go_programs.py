"""The programs that no package registry offers as a binary; they are built from Go modules.

etcd, kube-apiserver and kube-controller-manager are one binary. Helm and promtool have a go.mod each: in the
same one, they would change the module versions that Kubernetes is released with.

`python -m devcluster.go_programs` builds Helm and promtool now, so that no test has to wait for them.
"""

import sys
from datetime import timedelta
from pathlib import Path

from devcluster.build import GoProgram, required_version
from devcluster.build_progress import BuildWork
from devcluster.errors import DevclusterError
from devcluster.progress import print_progress

_HERE = Path(__file__).parent
_NO_DEBUG_SYMBOLS = ("-s", "-w")
SHARES = (0, 0.06, 0.13, 0.2, 0.34, 0.44, 0.56, 0.65, 0.74, 0.85, 1)
"""Measured: the packages at the beginning are small."""


def kubernetes_version(folder: Path = _HERE / "controlplane") -> str:
    return required_version(folder, "k8s.io/kubernetes")


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
