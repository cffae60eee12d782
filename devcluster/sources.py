"""The Go sources of the control plane, and the name of what is built from them."""

import hashlib
import platform
import re
from pathlib import Path

FOLDER = Path(__file__).parent / "controlplane"


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
