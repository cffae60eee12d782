"""Files that others read while we write them appear whole or not at all."""

import json
from collections.abc import Mapping
from pathlib import Path


def write(path: Path, text: str) -> None:
    """Put `text` into `path` atomically, readable by nobody else."""
    temporary = path.with_name(f".{path.name}.new")
    temporary.unlink(missing_ok=True)
    temporary.touch(mode=0o600)
    temporary.write_text(text)
    temporary.replace(path)


def write_json(path: Path, content: Mapping[str, object]) -> None:
    """Put `content` into `path` atomically, in a form that people can read too."""
    write(path, json.dumps(content, indent=2) + "\n")
