"""`python -m release VERSION --image NAME --into FOLDER`: the files of a release, from the last commit.

Uncommitted and ignored files are not released. The image is built separately, from the checkout itself; so
the files that it is built from must be committed.
"""

import argparse
import subprocess
import sys
import tarfile
import tempfile
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

from release.attestation import ReleaseError, Signer
from release.release import Release, write

ROOT = Path(__file__).parents[2]
OF_THE_IMAGE = ("deploy/image", ".dockerignore")
"""The parts of a checkout that the image is built from, beside the wheel of the release."""


def main() -> None:
    """Exit with 1 and one sentence if the release cannot be created."""
    parser = argparse.ArgumentParser(prog="python -m release", description=__doc__, allow_abbrev=False)
    parser.add_argument("version", help="the version in pyproject.toml")
    parser.add_argument("--image", required=True, help="name of the image, without a tag")
    parser.add_argument("--into", required=True, type=Path, help="an empty folder, or a new one")
    parser.add_argument("--download-url", default="", help="address of the published files, for krew")
    parser.add_argument("--sign-key", type=Path, help="a private key for ECDSA, in PEM")
    options = parser.parse_args()
    options.into.mkdir(parents=True, exist_ok=True)
    if any(options.into.iterdir()):
        sys.exit(f"--into {options.into} is not empty: its other files would be released, too")
    try:
        signer = Signer(options.sign_key) if options.sign_key else None
        refuse_changes_of_the_image(ROOT)
        release = Release(
            version=options.version,
            image=options.image,
            time=datetime.fromtimestamp(int(_git(ROOT, "log", "-1", "--format=%ct")), UTC),
            commit=_git(ROOT, "rev-parse", "HEAD").decode().strip(),
            download_url=options.download_url,
        )
        with tempfile.TemporaryDirectory() as source:
            with tarfile.open(fileobj=BytesIO(_git(ROOT, "archive", "HEAD"))) as archive:
                archive.extractall(source, filter="data")
            write(release, Path(source), options.into.absolute(), signer)
    except ReleaseError as error:
        sys.exit(str(error))


def refuse_changes_of_the_image(checkout: Path) -> None:
    """Raise ReleaseError if the image would be built from uncommitted files."""
    changed = _git(checkout, "status", "--porcelain", "--", *OF_THE_IMAGE).decode().splitlines()
    if changed:
        names = ", ".join(line[3:] for line in changed)
        raise ReleaseError(f"not committed, and the image would be built with it: {names}")


def _git(checkout: Path, *arguments: str) -> bytes:
    command = ["git", *arguments]
    ran = subprocess.run(command, cwd=checkout, capture_output=True, check=False)  # noqa: S603  ours
    if ran.returncode != 0:
        raise ReleaseError(f"git {arguments[0]} failed: {ran.stderr.decode().strip()}")
    return ran.stdout


if __name__ == "__main__":
    main()
