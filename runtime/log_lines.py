"""Log lines: one JSON object each, with a constant message, and variable parts in fixed keys.

A line about an incident has `workflow_id`, `check` and `target`. They come from Temporal's context of the
activity or workflow that logs, or from an `item` that is a workflow id, so no call has to pass them.
Values come from objects that others write: their length is limited, and JSON escapes control characters.
"""

import json
import logging
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from temporalio import activity, workflow

from health.model.references import check_of, target_of, workflow_id_of

LONGEST_VALUE = 8_000
"""In characters."""
_CUT = " [cut] "
_STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}
"""The attributes of every log record."""


def incident_keys(full_id: str) -> dict[str, str]:
    """The keys of a line about the workflow; without check and target if the id is cut, or no incident's."""
    check, workflow_id = check_of(full_id), workflow_id_of(full_id)
    if check is None:
        return {"workflow_id": workflow_id}
    return {"workflow_id": workflow_id, "check": str(check), "target": target_of(full_id)}


class JsonFormatter(logging.Formatter):
    """Formats a record as one JSON object in one line."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        given = {key: value for key, value in record.__dict__.items() if key not in _STANDARD}
        for key, value in [*given.items(), *_item(given.get("item")), *_context()]:
            line.setdefault(key, value)
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(_bounded(line))


def _item(item: object) -> Iterator[tuple[str, str]]:
    """The keys of the incident that a guard names as its item."""
    if isinstance(item, str) and check_of(item) is not None:
        yield from incident_keys(item).items()


def _context() -> Iterator[tuple[str, str | int]]:
    """The keys of the activity or workflow that logs."""
    if activity.in_activity():
        info = activity.info()
        yield from incident_keys(info.workflow_id or "").items()
        yield from (("run_id", info.workflow_run_id or ""), ("activity", info.activity_type))
        yield "attempt", info.attempt
    elif workflow.in_workflow():
        yield from incident_keys(workflow.info().workflow_id).items()
        yield "run_id", workflow.info().run_id


def _bounded(line: Mapping[str, object]) -> dict[str, object]:
    """The same with short values; of a long text, as of a traceback, the beginning and the end stay."""
    return {
        key: value if isinstance(value, (int, float)) or value is None else _short(str(value))
        for key, value in line.items()
    }


def _short(text: str) -> str:
    if len(text) <= LONGEST_VALUE:
        return text
    beginning = LONGEST_VALUE // 4
    return text[:beginning] + _CUT + text[beginning + len(_CUT) - LONGEST_VALUE :]
