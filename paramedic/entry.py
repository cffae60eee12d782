"""Entry points: how our programs begin where the wheel is installed, and in a checkout.

Each first makes its process see our packages, before all others: another distribution may have a `workflows`
or a `cli` as well. In a checkout they are where the editable installation has them, and need no such thing.
"""

import gc
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

INTERRUPTED = 128 + signal.SIGINT
PACKAGES = Path(__file__).parent / "packages"


def command() -> NoReturn:
    """`paramedic`."""
    see_packages()
    try:
        with loading():
            from cli.main import run  # noqa: PLC0415  not to be found before
    except KeyboardInterrupt:  # while that is loaded nobody else is there to obey it
        raise SystemExit(INTERRUPTED) from None
    run()


def detector() -> NoReturn:
    """`paramedic-detector`."""
    see_packages()
    with loading():
        from detector.detector import run  # noqa: PLC0415  not to be found before
        from runtime.process import run_process  # noqa: PLC0415  not to be found before

    run_process(run)


def worker() -> NoReturn:
    """`paramedic-worker`."""
    see_packages()
    with loading():
        from runtime.process import run_process  # noqa: PLC0415  not to be found before
        from worker.worker import run  # noqa: PLC0415  not to be found before

    run_process(run)


def see_packages() -> None:
    """Let this process import our packages, and of two with the same name ours."""
    if PACKAGES.is_dir():
        sys.path.insert(0, str(PACKAGES))


@contextmanager
def loading() -> Iterator[None]:
    """While a program is loaded nothing is garbage, and to look for some took 0.1 s of 1.4.

    What is loaded stays until the end, so later collections pass it over as well.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
