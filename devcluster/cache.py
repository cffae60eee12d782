"""Where things live that are fetched or built once and serve every checkout."""

import os
from pathlib import Path


def directory() -> Path:
    """`$XDG_CACHE_HOME/paramedic`, by default `~/.cache/paramedic`."""
    configured = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(configured) if configured else Path.home() / ".cache"
    return base / "paramedic"
