"""Creates all files of a release from a source tree, with SHA256SUMS of all others."""

import hashlib
import shutil
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from release import manifests, wheel
from release.bill_of_materials import bill, read_lock
from release.errors import ReleaseError

LOCK = Path("deploy/image/requirements.lock")
CHECKSUMS = "SHA256SUMS"
"""In the format of `sha256sum --check`."""


@dataclass(frozen=True)
class Release:
    """The version, the image and the time of a release."""

    version: str
    image: str
    """The name of the image; its tag is the version."""
    time: datetime
    """The time of the commit."""


def write(release: Release, source: Path, into: Path) -> None:
    """Write the files of `release` into the empty folder `into`; `source` is changed.

    Raises ReleaseError.
    """
    if (found := wheel.version_of(source)) != release.version:
        raise ReleaseError(f"pyproject.toml says version {found}, and the release is to be {release.version}")
    built = wheel.build(source, into, release.time)
    prefix = f"paramedic-{release.version}"
    locked = read_lock((source / LOCK).read_text())
    (into / f"{prefix}.cdx.json").write_text(bill(release.version, _sha256(built), locked, release.time))
    shutil.copyfile(source / LOCK, into / f"{prefix}-requirements.lock")
    manifests.choose_image(source, release.image, release.version)
    manifests.pack(source, into / f"{prefix}-deploy.tar.gz", release.time)
    for overlay in manifests.overlays(source):
        (into / f"{prefix}-{overlay.name}.yaml").write_text(manifests.render(overlay))
    _write_checksums(into)


def _sha256(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _write_checksums(folder: Path) -> None:
    """Write the checksums of all other files in `folder`."""
    files = sorted(file for file in folder.iterdir() if file.name != CHECKSUMS)
    (folder / CHECKSUMS).write_text("".join(f"{_sha256(file)}  {file.name}\n" for file in files))
