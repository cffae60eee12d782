"""Logs: one JSON object a line, a constant message, and fixed keys for what varies."""

import json
import logging
import sys
from datetime import UTC, datetime

from temporalio import activity, workflow

_OURS = ("activities", "detector", "kube", "runtime", "worker")
_STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}


class JsonFormatter(logging.Formatter):
    """Writes a record with its extra keys."""

    def format(self, record: logging.LogRecord) -> str:
        """One line of JSON."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {key: value for key, value in record.__dict__.items() if key not in _STANDARD}
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def set_up_logs() -> None:
    """Log to standard error, from INFO on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    # Temporal's context is a key of each record already.
    workflow.logger.workflow_info_on_message = False
    activity.logger.activity_info_on_message = False
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)


def set_log_level(level: str) -> None:
    """Log from `level` on what is ours: what libraries log at DEBUG has whole answers in it, Secrets too."""
    for package in _OURS:
        logging.getLogger(package).setLevel(level.upper())
