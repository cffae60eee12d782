"""Applications of a test in the place of the command's own, in a forked process."""

import sys
from typing import Any, NoReturn

import typer

from cli import main


def leave(ends: str) -> NoReturn:
    """Be a command that says something and ends so, a statement; tell where it comes back to us."""
    names: dict[str, Any] = {}
    exec(f"def app(**_):\n    print('done', end='')\n    {ends}", names)  # noqa: S102  the test wrote it
    main.app = names["app"]
    sys.argv = ["paramedic"]
    try:
        main.run()
    finally:
        sys.stdout.write("the interpreter was taken down")
        sys.stdout.flush()


def interrupted() -> NoReturn:
    main.app = typer.Typer()

    @main.app.command()
    def wait() -> None:
        raise KeyboardInterrupt

    sys.argv = ["paramedic"]
    main.run()
