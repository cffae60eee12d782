"""Recorded histories as files: what Temporal wrote down, made readable, without a trace of the machine.

The JSON is Temporal's own but for two things: payloads that are JSON stand as JSON, and what is of one server
or one machine only, as ids and stack traces, is left out.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

from temporalio.client import WorkflowHistory

HERE = Path(__file__).parent
RECORDER = "recorder"
_JSON = b64encode(b"json/plain").decode()
_LEFT_OUT = {"taskId", "requestId", "historySizeBytes", "workerVersion", "stackTrace"}


def files_of(story: str) -> list[Path]:
    """The files of one story, one for each run of its workflow."""
    return sorted(HERE.glob(f"{story}-[0-9].json"))


def write(file: Path, history: WorkflowHistory) -> None:
    readable = _map(_readable, history.to_json_dict())
    file.write_text(json.dumps(readable, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


def read(file: Path) -> WorkflowHistory:
    """One run, as Temporal's tools would give it."""
    content = _map(_as_temporal_has_it, json.loads(file.read_text()))
    start = content["events"][0]["workflowExecutionStartedEventAttributes"]
    return WorkflowHistory.from_json(start["workflowId"], content)


def _map(change: Callable[[dict[str, Any]], dict[str, Any] | None], value: Any) -> Any:
    """`value` with every object in it changed; None leaves an object to be gone through."""
    if isinstance(value, list):
        return [_map(change, part) for part in value]
    if not isinstance(value, dict):
        return value
    changed = change(value)
    if changed is not None:
        return changed
    return {key: _map(change, part) for key, part in value.items() if key not in _LEFT_OUT}


def _readable(value: dict[str, Any]) -> dict[str, Any] | None:
    if value.get("kind") == "TASK_QUEUE_KIND_STICKY":
        return {**value, "name": RECORDER}  # it is named after the host of a worker
    metadata = value.get("metadata", {})
    if "data" not in value or metadata.get("encoding") != _JSON:
        return None
    rest = {key: part for key, part in metadata.items() if key != "encoding"}
    return {"json": json.loads(b64decode(value["data"]))} | ({"metadata": rest} if rest else {})


def _as_temporal_has_it(value: dict[str, Any]) -> dict[str, Any] | None:
    if "json" not in value:
        return None
    data = b64encode(json.dumps(value["json"]).encode()).decode()
    return {"data": data, "metadata": {"encoding": _JSON, **value.get("metadata", {})}}
