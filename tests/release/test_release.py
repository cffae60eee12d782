"""The files of a release, made from copies of this checkout with overlays of their own."""

import hashlib
import json
import os
import shutil
import subprocess
import tarfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from release.__main__ import refuse_changes_of_the_image
from release.attestation import ReleaseError, read_lock
from release.release import LOCK, Release, version_of, write

ROOT = Path(__file__).parents[2]
VERSION = version_of(ROOT)
COMMIT = "c" * 40
RELEASE = Release(
    version=VERSION,
    image="registry.example.com/paramedic",
    time=datetime(2026, 11, 1, 12, tzinfo=UTC),
    commit=COMMIT,
    download_url="https://example.com/v1/",
)
SCRIPT = "deploy/image/build.sh"
PLUGIN = "deploy/krew/kubectl-paramedic"
PROGRAMS = {Path(SCRIPT).name, Path(PLUGIN).name}
IN_THE_WHEEL = ["pyproject.toml", "README.md", "LICENSE"]
MANIFESTS = {
    "base/kustomization.yaml": {"resources": ["worker.yaml"]},
    "base/worker.yaml": {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "worker"},
        "spec": {"containers": [{"name": "worker", "image": "paramedic"}]},
    },
    "chart/paramedic/Chart.yaml": {"apiVersion": "v2", "version": "0.0.1", "appVersion": "0.0.2"},
    "chart/paramedic/values.yaml": {"image": {"repository": "paramedic", "tag": ""}},
    "overlays/plain/kustomization.yaml": {
        "resources": ["../../base"],
        "components": ["../../components/image"],
    },
}


def copy(into: Path) -> Path:
    """The sources of a wheel and of one overlay, as they are checked out elsewhere at another time."""
    packages = [room.parent.name for room in ROOT.glob("[!.]*/__init__.py") if room.parent.name != "tests"]
    for name in packages:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, into / name, ignore=ignored, copy_function=shutil.copyfile)
    for name in (*IN_THE_WHEEL, str(LOCK)):
        (into / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, into / name)
    for name in (SCRIPT, PLUGIN):
        (into / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, into / name)
    for name, content in MANIFESTS.items():
        file = into / "deploy" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(yaml.safe_dump(content))
    (into / "deploy" / "same").symlink_to("base")
    chart = into / "deploy" / "chart" / "paramedic"
    (chart / "base").symlink_to("../../base")
    (chart / ".helmignore").write_text("kustomization.yaml\n")
    return into


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    into = tmp_path_factory.mktemp("released")
    write(RELEASE, copy(tmp_path_factory.mktemp("source")), into)
    return into


def test_same_sources_give_the_same_bytes_elsewhere(released: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    again.mkdir()
    source = copy(tmp_path / "elsewhere")
    for file in source.rglob("*.*"):
        os.utime(file, (0, 1_000_000_000))
        file.chmod(0o600 if file.is_file() and file.name not in PROGRAMS else 0o700)

    write(RELEASE, source, again)

    assert contents(again) == contents(released)


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_every_file_has_its_checksum(released: Path) -> None:
    lines = (released / "SHA256SUMS").read_text().splitlines()
    files = contents(released)
    del files["SHA256SUMS"]

    assert lines == [f"{hashlib.sha256(files[name]).hexdigest()}  {name}" for name in sorted(files)]
    assert set(files) == {
        f"paramedic-{VERSION}-{kind}"
        for kind in ("deploy.tar.gz", "plain.yaml", "py3-none-any.whl", "requirements.lock")
    } | {
        f"paramedic-{VERSION}.cdx.json",
        f"paramedic-{VERSION}.tgz",
        f"paramedic-{VERSION}.provenance.json",
        f"kubectl-paramedic-{VERSION}.tar.gz",
        f"kubectl-paramedic-{VERSION}.krew.yaml",
    }


def test_manifest_of_the_plugin_names_the_archive_with_its_checksum(released: Path) -> None:
    archive = released / f"kubectl-paramedic-{VERSION}.tar.gz"
    spec = yaml.safe_load((released / f"kubectl-paramedic-{VERSION}.krew.yaml").read_text())["spec"]
    assert spec["version"] == f"v{VERSION}"
    for platform in spec["platforms"]:
        assert platform["uri"] == f"https://example.com/v1/{archive.name}"
        assert platform["sha256"] == hashlib.sha256(archive.read_bytes()).hexdigest()
    with tarfile.open(archive) as packed:
        assert {one["from"] for one in platform["files"]} == set(packed.getnames())
        assert packed.getmember(platform["bin"]).mode == 0o755


def test_plugin_runs_the_command_in_the_path_else_the_released_one(released: Path, tmp_path: Path) -> None:
    with tarfile.open(released / f"kubectl-paramedic-{VERSION}.tar.gz") as packed:
        packed.extractall(tmp_path, filter="data")
    for name in ("uvx", "paramedic"):
        program = tmp_path / name
        program.write_text(f'#!/bin/sh\necho {name} "$@"\n')
        program.chmod(0o755)

    def run() -> str:
        command = ["/bin/sh", str(tmp_path / "kubectl-paramedic"), "list", "--check", "a b"]
        ran = subprocess.run(  # noqa: S603  ours
            command, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False
        )
        return ran.stdout or ran.stderr

    assert run() == "paramedic list --check a b\n"
    (tmp_path / "paramedic").unlink()
    assert run() == f"uvx --from paramedic=={VERSION} paramedic list --check a b\n"
    (tmp_path / "uvx").unlink()
    assert run().startswith("kubectl paramedic needs the command paramedic in PATH")


def test_manifests_name_the_image_of_the_release(released: Path) -> None:
    image = f"{RELEASE.image}:{VERSION}"
    (pod,) = yaml.safe_load_all((released / f"paramedic-{VERSION}-plain.yaml").read_text())
    assert [container["image"] for container in pod["spec"]["containers"]] == [image]


def test_sources_of_the_manifests_name_it_for_overlays_of_others(released: Path) -> None:
    with tarfile.open(released / f"paramedic-{VERSION}-deploy.tar.gz") as packed:
        (image,) = yaml.safe_load(content(packed, "deploy/components/image/kustomization.yaml"))["images"]
        values = yaml.safe_load(content(packed, "deploy/chart/paramedic/values.yaml"))
        chart = yaml.safe_load(content(packed, "deploy/chart/paramedic/Chart.yaml"))
        base = content(packed, "deploy/base/worker.yaml").decode()
        modes = {name: packed.getmember(name).mode for name in (SCRIPT, "deploy/base/worker.yaml")}
        assert packed.getmember("deploy/same").linkname == "base"
    assert (chart["version"], chart["appVersion"]) == (VERSION, VERSION)
    assert modes == {SCRIPT: 0o755, "deploy/base/worker.yaml": 0o644}
    assert "image: paramedic\n" in base, "overlays that leave the component out name their own"
    assert values["image"]["repository"] == RELEASE.image
    assert image == {"name": "paramedic", "newName": RELEASE.image, "newTag": VERSION}


def content(packed: tarfile.TarFile, name: str) -> bytes:
    file = packed.extractfile(name)
    assert file is not None
    return file.read()


def test_bill_of_materials_names_the_wheel_and_all_that_is_installed_with_it(released: Path) -> None:
    bill = json.loads((released / f"paramedic-{VERSION}.cdx.json").read_text())
    built = contents(released)[f"paramedic-{VERSION}-py3-none-any.whl"]
    project = bill["metadata"]["component"]
    needs = {entry["ref"]: entry.get("dependsOn", []) for entry in bill["dependencies"]}

    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    assert bill["metadata"]["timestamp"] == "2026-11-01T12:00:00+00:00"
    assert project["hashes"] == [{"alg": "SHA-256", "content": hashlib.sha256(built).hexdigest()}]
    locked = {
        f"pkg:pypi/{package.name}@{package.version}" for package in read_lock((ROOT / LOCK).read_text())
    }
    assert {component["purl"] for component in bill["components"]} == locked
    assert reached(project["bom-ref"], needs) == locked | {project["bom-ref"]}


def reached(name: str, needs: dict[str, list[str]]) -> set[str]:
    """All that is needed by one, and it."""
    return {name}.union(*(reached(needed, needs) for needed in needs[name]))


def test_version_other_than_that_of_the_project_is_not_released(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match=r"pyproject.toml says version .*, and the release is to be 99\.0"):
        write(replace(RELEASE, version="99.0"), ROOT, tmp_path)


def test_image_that_would_be_built_from_what_is_not_committed_is_not_released(tmp_path: Path) -> None:
    (tmp_path / "deploy" / "image").mkdir(parents=True)
    (tmp_path / SCRIPT).write_text("true\n")
    git, who = shutil.which("git"), ("-c", "user.name=a", "-c", "user.email=a@example.com")
    assert git is not None
    for arguments in (("init", "--quiet"), ("add", "."), (*who, "commit", "--quiet", "--message", "all")):
        subprocess.run((git, *arguments), cwd=tmp_path, check=True)  # noqa: S603  ours
    refuse_changes_of_the_image(tmp_path)

    (tmp_path / "README.md").write_text("a change beside it")
    refuse_changes_of_the_image(tmp_path)
    (tmp_path / SCRIPT).write_text("false\n")
    with pytest.raises(ReleaseError, match=rf"^not committed, .*: {SCRIPT}$"):
        refuse_changes_of_the_image(tmp_path)


def test_chart_is_of_the_version_of_the_project() -> None:
    chart = yaml.safe_load((ROOT / "deploy" / "chart" / "paramedic" / "Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (VERSION, VERSION)


def test_overlay_that_cannot_be_rendered_ends_it_with_its_name(tmp_path: Path) -> None:
    source = copy(tmp_path / "source")
    (source / "deploy" / "base" / "worker.yaml").unlink()
    with pytest.raises(ReleaseError, match=r"^deploy/overlays/plain cannot be rendered: .*worker\.yaml"):
        write(RELEASE, source, tmp_path)
