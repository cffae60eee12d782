"""Completion of `kubectl paramedic`: kubectl runs `kubectl_complete-paramedic` with the typed words."""

import contextlib
import os
import shlex
from collections.abc import Sequence

import typer

from cli.main import app

NO_FILES = ":4"
"""The last line of an answer to kubectl: it shall not complete names of files."""


def complete(words: Sequence[str]) -> None:
    """Print the completions of the last word, a line each."""
    typed = {"COMP_WORDS": shlex.join(["paramedic", *words]), "COMP_CWORD": str(len(words))}
    os.environ.update(typed, _PARAMEDIC_COMPLETE="complete_bash")
    with contextlib.suppress(SystemExit):
        app(prog_name="paramedic", standalone_mode=False)
    typer.echo(NO_FILES)
