"""The options that several commands have, and the parsers of their values; an error lists the allowed values.

The parsers replace typer's own, whose errors speak of the types of the validation library.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Any, TypeVar

import typer

from cli.shared.ages import parse_days
from health.model.order import LONGEST_ORDER
from objects.durations import parse_duration
from runtime.settings import CLUSTER_VARIABLE, LEASE_NAMESPACE_VARIABLE

LARGEST_NUMBER = 10**18 - 1
LONGEST_LOOK_BACK = timedelta(days=366)
UNNAMED = "cluster"
"""The configured name of a cluster without an installation; no workflow has it."""
Choice = TypeVar("Choice", bound=StrEnum)


def one_of(choices: Iterable[Choice]) -> Callable[[str], Choice]:
    """Parse one of these words, in any case."""
    by_word = {choice.casefold(): choice for choice in choices}

    def parse(text: str) -> Choice:
        if (found := by_word.get(text.casefold())) is None:
            raise typer.BadParameter(f"'{text}' is not one of {', '.join(by_word.values())}")
        return found

    return parse


def words(choices: Iterable[StrEnum]) -> str:
    """The metavar that `--help` shows for an option of these words."""
    return f"[{'|'.join(choices)}]"


def filled(text: str) -> str:
    """Parse any text that is not blank: a blank value is mostly an unset variable of a script."""
    if not text.strip():
        raise typer.BadParameter("must not be empty")
    return text


def at_least(least: int, most: int = LARGEST_NUMBER) -> Callable[[str | int], int]:
    """Parse a whole number from `least` to `most`."""

    def parse(value: str | int) -> int:
        text = str(value)
        if re.fullmatch(r"[0-9]{1,18}", text) and least <= int(text) <= most:
            return int(text)
        end = "on" if most == LARGEST_NUMBER else f"to {most}"
        raise typer.BadParameter(f"'{text}' is not a whole number from {least} {end}")

    return parse


class OutputFormat(StrEnum):
    """How a command prints: for people or for scripts."""

    TEXT = "text"
    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    JSONL = "jsonl"
    """One JSON document in each line."""


def printed_as(*outputs: OutputFormat, help_text: str = "How to print.") -> Any:  # noqa: ANN401  as typer.Option
    """The option `--output` of a command that prints in these ways."""
    return typer.Option("-o", "--output", parser=one_of(outputs), metavar=words(outputs), help=help_text)


PageOutput = Annotated[OutputFormat, printed_as(OutputFormat.TEXT, OutputFormat.JSON)]


def look_back(default: str, help_text: str) -> Any:  # noqa: ANN401  as typer.Option
    """The option `--since`, a time such as "7d"; `default` is shown in the help."""
    return typer.Option(
        "--since", parser=_parse_look_back, metavar="TIME", show_default=default, help=help_text
    )


def _parse_look_back(value: str | timedelta) -> timedelta:
    if isinstance(value, timedelta):
        return value
    try:
        time = parse_days(value)
    except ValueError as error:
        raise typer.BadParameter(f"'{value}' is no time such as 7d, 12h or 90m") from error
    if timedelta() < time <= LONGEST_LOOK_BACK:
        return time
    raise typer.BadParameter(f"'{value}' must be longer than 0 and at most {LONGEST_LOOK_BACK.days}d")


def parse_time(text: str) -> timedelta:
    """Parse a Go duration for an option."""
    try:
        duration = parse_duration(text)
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} {error}") from error
    if not timedelta() < duration <= LONGEST_ORDER:
        raise typer.BadParameter(f"{text!r} must be longer than 0 and at most {LONGEST_ORDER.days} days")
    return duration


def duration(help_text: str) -> Any:  # noqa: ANN401  as typer.Option
    return typer.Option("--for", parser=parse_time, metavar="DURATION", help=help_text)


OrderTime = Annotated[
    timedelta | None,
    duration("How long the order stands, e.g. 30m or 1h30m; by default until resume or its recovery."),
]
PauseTime = Annotated[
    timedelta | None,
    duration("How long, e.g. 30m or 1h30m, also past the upgrade; by default until its end."),
]


def of_cluster(help_text: str) -> Any:  # noqa: ANN401  as typer.Option
    return typer.Option("--cluster", parser=filled, metavar="CLUSTER", help=help_text)


OfContext = Annotated[
    str | None, typer.Option("--context", parser=filled, metavar="NAME", help="A context of the kubeconfig.")
]
InspectedCluster = Annotated[
    str | None,
    of_cluster(f"The name of the cluster, as {CLUSTER_VARIABLE}; by default that of the only installation."),
]
LeaseNamespace = Annotated[
    str | None,
    typer.Option(
        "--lease-namespace",
        parser=filled,
        metavar="NAME",
        help=f"Namespace of the Leases of nodes, as {LEASE_NAMESPACE_VARIABLE}.",
    ),
]


def with_options(context: typer.Context, options: Mapping[str, str | None]) -> dict[str, str]:
    """The environment of the command, with each given option in place of its variable."""
    environment: dict[str, str] = context.obj
    return environment | {name: value for name, value in options.items() if value is not None}


@dataclass(frozen=True)
class ClusterChoice:
    """The cluster that a command asks, as its options choose it; None: not given."""

    context: typer.Context
    kubeconfig_context: str | None
    cluster: str | None

    @property
    def environment(self) -> dict[str, str]:
        return with_options(self.context, {CLUSTER_VARIABLE: self.cluster})
