"""Writes files atomically, so that readers see a complete file or none."""

import json
from collections.abc import Mapping
from pathlib import Path


def write(path: Path, text: str) -> None:
    """Write `text` to `path` atomically, readable by this user only."""
    temporary = path.with_name(f".{path.name}.new")
    temporary.unlink(missing_ok=True)
    temporary.touch(mode=0o600)
    temporary.write_text(text)
    temporary.replace(path)


def write_json(path: Path, content: Mapping[str, object]) -> None:
    """Write `content` to `path` atomically, as indented JSON."""
    write(path, json.dumps(content, indent=2) + "\n")
