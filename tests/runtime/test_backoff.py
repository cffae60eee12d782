"""The waits between attempts that fail in a row: one formula, and the numbers of each place that uses it."""

import ast
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detector.dispatching.dispatch import UNANSWERED
from detector.reporting import report_queue
from devcluster.supervisor import RESTARTS
from health.runbook import failures
from objects.backoff import EQUAL_JITTER, FULL_JITTER, Backoff
from runtime import problems
from workflows import question

ROOT = Path(__file__).parents[2]
PACKAGES = (
    "activities",
    "cli",
    "detector",
    "tools/devcluster",
    "health",
    "kube",
    "runtime",
    "worker",
    "workflows",
)
DRAWS = st.floats(0, 1)
HUGE = st.integers(1, 10**400)
DURATIONS = st.timedeltas(min_value=timedelta(microseconds=1), max_value=timedelta(days=10_000))
BACKOFFS = st.builds(
    Backoff,
    first=DURATIONS,
    longest=DURATIONS,
    factor=st.floats(1, 1e300),
    jitter=st.sampled_from([FULL_JITTER, EQUAL_JITTER, (0.8, 1.2), (1.0, 1.0)]),
)


@given(BACKOFFS, HUGE)
def test_limit_is_between_the_first_and_the_longest_wait(backoff: Backoff, failures: int) -> None:
    assert min(backoff.first, backoff.longest) <= backoff.limit(failures) <= backoff.longest


@given(BACKOFFS, st.lists(HUGE | st.integers(0, 100), min_size=2))
def test_limit_never_shrinks_with_further_failures(backoff: Backoff, failures: list[int]) -> None:
    assert all(one <= more for one, more in pairwise(map(backoff.limit, sorted(failures))))


@given(BACKOFFS, st.integers(-5, 0), DRAWS)
def test_nothing_is_waited_for_without_a_failure(backoff: Backoff, failures: int, draw: float) -> None:
    assert backoff.wait(failures, draw) == timedelta()


@given(BACKOFFS, HUGE, DRAWS)
def test_wait_stays_within_its_shares_of_the_limit(backoff: Backoff, failures: int, draw: float) -> None:
    limit, (least, most) = backoff.limit(failures), backoff.jitter
    assert limit * least <= backoff.wait(failures, draw) <= limit * most
    assert backoff.wait(failures, 0) == limit * least
    assert abs(backoff.wait(failures, 1) - limit * most) <= timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("backoff", "limits", "jitter"),
    [
        pytest.param(problems.BACKOFF, [0.5, 1, 2, 4, 8, 10, 10], (0.5, 1), id="retry_forever"),
        pytest.param(UNANSWERED, [1, 2, 4, 8, 10, 10], (0, 1), id="calls without an answer"),
        pytest.param(report_queue.RETRIES, [0.5, 1, 2, 4, 8, 16, 30, 30], (1, 1), id="reports"),
        pytest.param(failures.REPEATS, [5, 10, 20, 40, 80, 160, 300, 300], (1, 1.2), id="failing acts"),
        pytest.param(
            failures.RETRIES,
            [2, 4, 8, 16, 32, 64, 128, 256, 300],
            (0.5, 1),
            id="failed attempts of a maintenance task",
        ),
        pytest.param(question.LATE_ANSWERS, [20, 40, 60, 60], (0.5, 1), id="late answers"),
        pytest.param(RESTARTS, [0.5, 1, 2, 4, 8, 15, 15], (1, 1), id="programs of a laptop cluster"),
    ],
)
def test_each_place_has_its_own_numbers(
    backoff: Backoff, limits: list[float], jitter: tuple[float, float]
) -> None:
    failures = range(1, len(limits) + 1)
    assert [backoff.limit(count).total_seconds() for count in failures] == limits
    assert backoff.jitter == jitter


def test_no_package_above_computes_a_power() -> None:
    """A second formula of back-off would be a power or a shift by a variable."""
    files = {path for package in PACKAGES for path in (ROOT / package).rglob("*.py")}
    powers = {str(path.relative_to(ROOT)) for path in files if _computes_a_power(path)}
    assert powers == set()


def _computes_a_power(path: Path) -> bool:
    return any(map(_is_power, ast.walk(ast.parse(path.read_bytes()))))


def _is_power(node: ast.AST) -> bool:
    match node:
        case ast.BinOp(op=ast.Pow() | ast.LShift(), right=right):
            return not isinstance(right, ast.Constant) and not ast.unparse(right).isupper()
        case ast.Call(func=ast.Attribute(attr="pow")):
            return True
    return False
