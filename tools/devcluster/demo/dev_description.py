"""Reads DIR/dev.json, which `paramedic dev` writes once it is ready, as far as the demo needs it."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError


class DevDescription(BaseModel):
    """The addresses and files of a running devcluster."""

    model_config = ConfigDict(frozen=True)

    kubeconfig: Path
    temporal_address: str
    temporal_namespace: str
    temporal_ui: str
    cluster: str
    pids: dict[str, int]
    workload_kubeconfig: Path | None = None


def read(file: Path, since: float = 0) -> DevDescription | None:
    """Read the description; None unless it was written after `since` (seconds since 1970).

    An older file is of a killed process, or of another one that still runs.
    """
    try:
        if file.stat().st_mtime < since:
            return None
        return DevDescription.model_validate_json(file.read_bytes())
    except (FileNotFoundError, ValidationError):
        return None
