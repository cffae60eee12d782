"""Manifests with the image of a release: each overlay of `deploy/`, its sources, and the chart.

The image is named by one component of `deploy/` (`deploy/components/image`), and by the values of each chart,
whose version is the tag: a release writes its own name there.
"""

import gzip
import os
import re
import stat
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from datetime import datetime
from io import BytesIO
from pathlib import Path

import yaml

from release.attestation import ReleaseError

IMAGE = "paramedic"
"""The name of our image in the manifests; a release replaces it."""
_PROGRAM, _FILE = 0o755, 0o644
"""The file modes in an archive, independent of the machine."""
_OF_A_CHART = re.compile(r"^(?P<field>version|appVersion): .*$", re.MULTILINE)


def choose_image(source: Path, image: str, version: str) -> None:
    """Write `image:version` into the manifests of `source`."""
    component = {
        "apiVersion": "kustomize.config.k8s.io/v1alpha1",
        "kind": "Component",
        "images": [{"name": IMAGE, "newName": image, "newTag": version}],
    }
    folder = source / "deploy" / "components" / "image"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(component))
    for values in source.glob("deploy/chart/*/values.yaml"):
        default, ours = f"  repository: {IMAGE}\n", f"  repository: {image}\n"
        values.write_text(values.read_text().replace(default, ours))
    for chart in source.glob("deploy/chart/*/Chart.yaml"):
        chart.write_text(_OF_A_CHART.sub(rf"\g<field>: {version}", chart.read_text()))


def overlays(source: Path) -> tuple[Path, ...]:
    """The folders of all overlays, sorted by name."""
    return tuple(sorted(file.parent for file in source.glob("deploy/overlays/*/kustomization.yaml")))


def render(overlay: Path) -> str:
    """All objects of an overlay as YAML.

    Raises ReleaseError with kustomize's message if it fails.
    """
    # The kubectl of the lock file, not the one on PATH, which may write other bytes.
    kubectl = Path(sys.executable).with_name("kubectl")
    command = [str(kubectl), "kustomize", str(overlay)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  ours
    if ran.returncode != 0:
        raise ReleaseError(f"deploy/overlays/{overlay.name} cannot be rendered: {ran.stderr.strip()}")
    return ran.stdout


def pack(source: Path, into: Path, time: datetime) -> None:
    """Write the folder `deploy` into an archive; its files are dated `time` and have no owner."""
    found = sorted((source / "deploy").rglob("*"))
    write_archive(into, {str(path.relative_to(source)): path for path in found}, time)


def pack_chart(source: Path, into: Path, time: datetime) -> None:
    """Write the chart into an archive as `helm package` does, with files in place of its links."""
    chart = source / "deploy" / "chart" / "paramedic"
    ignored = {".helmignore", *(chart / ".helmignore").read_text().split()}
    found = {
        f"paramedic/{Path(folder, name).relative_to(chart)}": Path(folder, name).resolve()
        for folder, _, names in os.walk(chart, followlinks=True)
        for name in names
        if name not in ignored
    }
    write_archive(into, dict(sorted(found.items())), time)


def write_archive(into: Path, files: Mapping[str, Path], time: datetime) -> None:
    """Write a compressed archive of these files by name, dated `time` and without an owner."""
    packed = BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, path in files.items():
            entry = tarfile.TarInfo(name)
            entry.mtime = int(time.timestamp())
            if path.is_symlink():
                entry.type, entry.linkname = tarfile.SYMTYPE, str(path.readlink())
                archive.addfile(entry)
            elif path.is_file():
                content = path.read_bytes()
                entry.size = len(content)
                entry.mode = _PROGRAM if path.stat().st_mode & stat.S_IXUSR else _FILE
                archive.addfile(entry, BytesIO(content))
    into.write_bytes(gzip.compress(packed.getvalue(), mtime=0))
