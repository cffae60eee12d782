"""The Dockerfile, checked without a container engine."""

import re
import subprocess
import sys
from pathlib import Path

FILE = Path(__file__).parents[2] / "deploy" / "image" / "Dockerfile"
INSTRUCTIONS = FILE.read_text().replace("\\\n", " ").splitlines()


def of(keyword: str) -> list[str]:
    """The arguments of each instruction with this keyword."""
    return [line.removeprefix(f"{keyword} ") for line in INSTRUCTIONS if line.startswith(f"{keyword} ")]


def test_hadolint_has_nothing_to_say() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    ran = subprocess.run([hadolint, FILE], capture_output=True, text=True, check=False)  # noqa: S603  ours
    assert (ran.returncode, ran.stdout) == (0, "")


def test_every_stage_begins_with_an_image_pinned_by_an_argument() -> None:
    digests = dict(argument.split("=") for argument in of("ARG"))
    assert re.fullmatch(r"sha256:[0-9a-f]{64}", digests["PYTHON_DIGEST"])
    assert {stage.partition(" ")[0].rpartition("@")[2] for stage in of("FROM")} == {"${PYTHON_DIGEST}"}


def test_nothing_in_it_runs_as_root() -> None:
    (user,) = of("USER")
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user)


def test_copied_files_are_part_of_the_build_context() -> None:
    """All but what `.dockerignore` lets through stays away from the build."""
    let_through = (FILE.parents[2] / ".dockerignore").read_text().splitlines()
    assert let_through == ["*", "!deploy/image", "!dist/paramedic-*.whl"]
    copied = [name for line in of("COPY") if "--from" not in line for name in line.split()[:-1]]
    assert all(name.startswith(("deploy/image/", "dist/paramedic-")) for name in copied)
