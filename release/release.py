"""All files of a release, made from a source tree and nothing else."""

import shutil
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from release import bill_of_materials, checksums, lock, manifests, wheel
from release.errors import ReleaseError

LOCK = Path("deploy/image/requirements.lock")


@dataclass(frozen=True)
class Release:
    """What is released."""

    version: str
    image: str
    """Where it is pulled from; its tag is the version."""
    time: datetime
    """When the sources were committed."""


def write(release: Release, source: Path, into: Path) -> None:
    """Write the files of `release` into the empty folder `into`; `source` is changed.

    Raises ReleaseError.
    """
    if (found := wheel.version_of(source)) != release.version:
        raise ReleaseError(f"pyproject.toml says version {found}, and the release is to be {release.version}")
    built = wheel.build(source, into, release.time)
    prefix = f"paramedic-{release.version}"
    locked = (source / LOCK).read_text()
    bill = bill_of_materials.bill(release.version, checksums.sha256(built), lock.read(locked), release.time)
    (into / f"{prefix}.cdx.json").write_text(bill)
    shutil.copyfile(source / LOCK, into / f"{prefix}-requirements.lock")
    manifests.choose_image(source, release.image, release.version)
    manifests.pack(source, into / f"{prefix}-deploy.tar.gz", release.time)
    for overlay in manifests.overlays(source):
        (into / f"{prefix}-{overlay.name}.yaml").write_text(manifests.render(overlay))
    checksums.write(into)
