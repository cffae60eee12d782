"""What `paramedic dev` writes into DIR/dev.json once it is ready, as far as the demo reads it."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError


class DevDescription(BaseModel):
    """How to reach a running devcluster."""

    model_config = ConfigDict(frozen=True)

    kubeconfig: Path
    temporal_address: str
    temporal_namespace: str
    temporal_ui: str
    cluster: str
    pids: dict[str, int]
    workload_kubeconfig: Path | None = None


def read(file: Path, since: float = 0) -> DevDescription | None:
    """Read the description, None while there is none that was written after `since` (seconds since 1970).

    One that is older was left behind by a process that was killed, or belongs to one that still runs.
    """
    try:
        if file.stat().st_mtime < since:
            return None
        return DevDescription.model_validate_json(file.read_bytes())
    except (FileNotFoundError, ValidationError):
        return None
