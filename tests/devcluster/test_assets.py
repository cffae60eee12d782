import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from devcluster import assets
from devcluster.errors import BuildError
from devcluster.go_programs import CONTROL_PLANE, HELM, find_go, kubernetes_version


def executable(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "paramedic"


@pytest.fixture
def compilers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on PATH before all others, for a stand-in of the compiler."""
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    return tmp_path / "bin"


GO = 'test "$1" = version && { echo "go version go1.26.0 linux/amd64"; exit 0; }\n'
COMPILES = GO + 'while test "$1" != -o; do shift; done; echo built >> "$2"'
FAILS = GO + "echo 'no space left on device' >&2; exit 1"


def server(folder: Path, name: str, version: str) -> Path:
    words = "etcd Version:" if name == "etcd" else "Kubernetes"
    prefix = "" if name == "etcd" else "v"
    return executable(folder / name, f'echo "{words} {prefix}{version}"')


@pytest.fixture
def given(tmp_path: Path) -> Path:
    """A folder with servers of versions that fit together."""
    for name, version in (
        ("kube-apiserver", "1.33.2"),
        ("kube-controller-manager", "1.33.0"),
        ("etcd", "3.5.21"),
    ):
        server(tmp_path / "given", name, version)
    return tmp_path / "given"


@pytest.mark.parametrize("place", ["KUBEBUILDER_ASSETS", "PATH"])
def test_servers_that_fit_are_taken_and_nothing_is_built(
    given: Path, cache: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(place, str(given) if place != "PATH" else f"{given}{os.pathsep}{os.environ['PATH']}")
    servers = assets.find()
    assert servers.kube_apiserver == (str(given / "kube-apiserver"),)
    assert servers.kube_controller_manager == (str(given / "kube-controller-manager"),)
    assert servers.etcd == (str(given / "etcd"),)
    assert not cache.exists()


UNFIT = {
    "no manager, as of envtest": ("kube-controller-manager", None, "there is no kube-controller-manager in "),
    "old server": ("kube-apiserver", 'echo "Kubernetes v1.29.9"', "has version 1.29, older than 1.30"),
    "old etcd": ("etcd", 'echo "etcd Version: 3.4.30"', "has version 3.4, older than 3.5"),
    "other manager": ("kube-controller-manager", 'echo "Kubernetes v1.36.3"', "has version 1.36, and "),
    "wrong architecture": ("kube-apiserver", "exit 126", "--version states no version"),
    "another program": ("etcd", "echo hello", "--version states no version"),
}


@pytest.mark.parametrize("row", UNFIT.values(), ids=UNFIT)
def test_servers_that_do_not_fit_are_not_mixed_with_ours(
    given: Path,
    compilers: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    row: tuple[str, str | None, str],
) -> None:
    name, script, why = row
    executable(compilers / "go", COMPILES)
    if script is None:
        (given / name).unlink()
    else:
        executable(given / name, script)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(given))
    servers = assets.find()
    ours = str(CONTROL_PLANE.binary())
    assert (servers.kube_apiserver, servers.etcd) == ((ours, "kube-apiserver"), (ours, "etcd"))
    assert why in capsys.readouterr().err


def test_built_asset_is_not_built_again(compilers: Path, cache: Path) -> None:
    executable(compilers / "go", COMPILES)
    assets.find()
    assets.find()
    built = CONTROL_PLANE.binary()
    assert built.read_text() == "built\n"
    assert built.is_relative_to(cache)


def test_a_failed_build_says_what_to_do_and_leaves_no_binary(compilers: Path, cache: Path) -> None:
    executable(compilers / "go", FAILS)
    with pytest.raises(BuildError, match=r"see why in .*controlplane\.log, then try again") as error:
        assets.find()
    assert "\n" not in str(error.value)
    assert not list(cache.glob("controlplane/*/controlplane"))
    assert "no space left" in next(cache.glob("controlplane/*/controlplane.log")).read_text()


def test_a_compiler_on_path_that_is_too_old_is_not_used(compilers: Path, cache: Path) -> None:
    executable(compilers / "go", 'echo "go version go1.25.9 linux/amd64"')
    installed = executable(cache / "go-toolchain" / "go" / "bin" / "go", COMPILES)
    assert find_go() == installed


def test_a_change_of_the_sources_makes_another_build(tmp_path: Path) -> None:
    before = CONTROL_PLANE.fingerprint()
    copied = replace(CONTROL_PLANE, folder=shutil.copytree(CONTROL_PLANE.folder, tmp_path / "sources"))
    assert copied.fingerprint() == before
    with (tmp_path / "sources" / "main.go").open("a") as source:
        source.write("// changed\n")
    assert copied.fingerprint() != before


def test_helm_is_built_beside_the_servers_and_never_taken_for_them(compilers: Path, cache: Path) -> None:
    executable(compilers / "go", COMPILES)
    assert HELM.binary().relative_to(cache).parts[0] == "helm"
    assert CONTROL_PLANE.binary().relative_to(cache).parts[0] == "controlplane"


def test_the_servers_tell_the_version_that_they_are_built_from() -> None:
    flags = CONTROL_PLANE.linker_flags
    version = kubernetes_version()
    assert f"component-base/version.gitVersion={version}" in flags
    assert f"version.gitMajor={version[1:].split('.')[0]} " in flags
    assert f"version.gitMinor={version.split('.')[1]} " in flags
