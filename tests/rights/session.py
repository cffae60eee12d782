"""At the end of a run the rights that our processes took are compared with the table of rights.

Every control plane of a run, whichever process started it, has its audit log below the temporary directory
of the run. So whoever ends last reads them all: a second or two for the whole suite.
"""

from pathlib import Path

import pytest

from tests.rights.comparison import problems
from tests.support.cluster.shared_temporal import is_one_of_many

WHOLE = "--every-right-is-used"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(WHOLE, action="store_true", help="fail if no test needs a right of the table of rights")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Fail the run if the table of rights does not fit."""
    config = session.config
    if is_one_of_many(config) or config.option.collectonly:
        return
    # Of tests that failed it is not known what the rest of them would have needed.
    is_whole_run = config.getoption(WHOLE) and exitstatus == pytest.ExitCode.OK
    found = problems(_audit_logs(config), is_whole_run=is_whole_run)
    if not found:
        return
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        reporter.section("the table of rights (docs/rights.md) and what was asked for", red=True)
        for sentence in found:
            reporter.line(sentence)
    session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _audit_logs(config: pytest.Config) -> list[Path]:
    directory: Path = config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]  # noqa: SLF001  pytest-xdist does so
    return sorted(directory.rglob("audit.log"))
