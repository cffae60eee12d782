"""OrderTime: how long an order of a person is to last, as `--for` takes it."""

from datetime import timedelta
from typing import Annotated

import typer

from objects.durations import parse_duration
from workflows.messages import LONGEST_ORDER


def _parse(text: str) -> timedelta:
    try:
        duration = parse_duration(text)
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} {error}") from error
    if not timedelta() < duration <= LONGEST_ORDER:
        raise typer.BadParameter(
            f"{text!r} must be longer than nothing and at most {LONGEST_ORDER.days} days"
        )
    return duration


OrderTime = Annotated[
    timedelta | None,
    typer.Option(
        "--for",
        parser=_parse,
        metavar="DURATION",
        help="For how long, e.g. 30m or 1h30m; until resume by default.",
    ),
]
