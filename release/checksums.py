"""SHA256SUMS: what `sha256sum --check` reads."""

import hashlib
from pathlib import Path

FILE = "SHA256SUMS"


def sha256(file: Path) -> str:
    """In hexadecimal."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def write(folder: Path) -> None:
    """Write the checksums of all other files of `folder`."""
    files = sorted(file for file in folder.iterdir() if file.name != FILE)
    (folder / FILE).write_text("".join(f"{sha256(file)}  {file.name}\n" for file in files))
