"""What a person decides about the demo."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class DemoSettings:
    """Where the demo lives, and whether it stays."""

    directory: Path
    """Data, logs and dev.json. What an earlier demo left there is gone on with."""
    stay: bool = False
    """Keep everything running after the story, until Ctrl-C."""
