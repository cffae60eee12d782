"""`paramedic demo`: what fails is remediated, live, on servers of its own."""

import asyncio
import shutil
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from cli.choosing import one_of
from cli.failing import UsageError, fail


def _scenario(text: str) -> str:
    from devcluster.demo.settings import Scenario  # noqa: PLC0415  operation needs nothing of development

    return one_of(Scenario)(text)


def demo(
    *,
    scenario: Annotated[
        str, typer.Option(parser=_scenario, metavar="[node|machine]", help="What fails, and what is done.")
    ] = "node",
    stay: Annotated[bool, typer.Option("--stay", help="Keep everything up until Ctrl-C.")] = False,
    directory: Annotated[
        Path | None,
        typer.Option("--dir", help="Where to keep data and logs; else they are deleted unless it fails."),
    ] = None,
) -> None:
    """Show remediations on simulated nodes, or Machines; exit code 0 when all are healthy again."""
    # Here, because operation needs nothing of development, neither its packages nor its time.
    from devcluster.demo.settings import DemoSettings, Scenario  # noqa: PLC0415  see above
    from devcluster.demo.story import FAILURE, run  # noqa: PLC0415  see above
    from devcluster.errors import SettingsError  # noqa: PLC0415  see above

    where = directory or Path(tempfile.mkdtemp(prefix="paramedic-demo-"))
    code = FAILURE
    try:
        code = asyncio.run(run(DemoSettings(where, stay=stay, scenario=Scenario(scenario))))
    except SettingsError as error:
        raise fail(UsageError(str(error))) from error
    finally:
        if directory is None and code != FAILURE:
            shutil.rmtree(where, ignore_errors=True)  # a server that had to be killed may still write
    raise typer.Exit(code)
