"""What is said of somebody else who writes the status of a check that we handle."""

from datetime import timedelta

from cli.ages import short
from cli.doctor.finding import Finding, warning
from health.model.status_writers import StatusWriter
from objects.timestamps import stamp

_REASON = "StatusWrittenByAnother"
_WHY = "two controllers would remediate the same targets"


def writer_finding(name: str, writer: StatusWriter, watched: timedelta) -> Finding:
    """Whether the status of the check `name` is still written, after it was watched for so long."""
    who, last = repr(writer.manager), f"last at {stamp(writer.last)}"
    if writer.is_over:
        what = f"{who} wrote the status of {name} within the last hour ({last}), and we did since"
        return warning(_REASON, what, f"make sure that it is stopped, {_WHY}")
    when = f"{_seen(writer.seen, watched)}, {last}" if writer.seen else last
    return warning(_REASON, f"{who} is still writing the status of {name} ({when})", f"stop it, {_WHY}")


def _seen(times: int, watched: timedelta) -> str:
    often = "once" if times == 1 else f"{times} times"
    seconds = max(1, round(watched.total_seconds()))
    return f"seen {often} in {short(timedelta(seconds=seconds))}"
