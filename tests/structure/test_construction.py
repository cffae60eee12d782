"""How objects are built: by keywords where there are many fields, in short constructors, and once."""

import ast
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = (
    "activities",
    "cli",
    "detector",
    "health",
    "kube",
    "objects",
    "paramedic",
    "runtime",
    "tools",
    "worker",
    "workflows",
)
MOST_FIELDS, MOST_POSITIONAL, MOST_LINES = 4, 5, 19

LONG_CONSTRUCTORS = {
    "kube/reflector.py": "the reflector owns its parts, and its state is of numbers and flags",
    "tools/bench/simulated_leader.py": "a bench that wires the parts of a detector with made-up inputs",
}

_LIBRARY, _RECORD, _COPY = (
    "an object of a library",
    "a mutable record that only this module knows",
    "fills a copy of its own class",
)
ASSIGNED_ELSEWHERE = {
    "cli/shared/connection.py": _LIBRARY,
    "cli/incidents/state_queries.py": _RECORD,
    "cli/incidents/orders.py": "sets the names of a command, which Typer reads",
    "cli/shared/output.py": _LIBRARY,
    "cli/shared/terminal.py": _RECORD,
    "detector/answers/storms.py": _RECORD,
    "detector/context/lost_nodes_watch.py": _RECORD,
    "detector/context/outage_watch.py": _RECORD,
    "detector/feeds/workload_clusters.py": _RECORD,
    "detector/nodehealthcheck/kind.py": _RECORD,
    "detector/limits/in_flight.py": _RECORD,
    "detector/state/state_view.py": _COPY,
    "detector/state/target_store.py": _COPY,
    "health/kinds/machines/check.py": "names the object of an error before it is raised",
    "health/policy/limit_usage.py": _RECORD,
    "kube/configuration.py": _LIBRARY,
    "kube/connection.py": _LIBRARY,
    "kube/decoding.py": _LIBRARY,
    "kube/transport.py": _LIBRARY,
    "kube/workload_kubeconfig.py": _LIBRARY,
    "runtime/guard.py": _RECORD,
    "runtime/process.py": _LIBRARY,
    "runtime/temporal_link.py": _LIBRARY,
    "tools/release/manifests.py": _LIBRARY,
    "workflows/orders.py": "sets the defaults of a handler, which the SDK reads",
}
"""By file, why attributes of an object other than `self` are assigned."""


def nodes() -> Iterator[tuple[str, ast.AST]]:
    for package in PACKAGES:
        for file in sorted((ROOT / package).rglob("*.py")):
            path = file.relative_to(ROOT).as_posix()
            yield from ((path, node) for node in ast.walk(ast.parse(file.read_text())))


def positional_dataclass(node: ast.AST) -> bool:
    if not isinstance(node, ast.ClassDef):
        return False
    fields = [
        ast.unparse(statement.annotation) for statement in node.body if isinstance(statement, ast.AnnAssign)
    ]
    if "KW_ONLY" in fields:
        return fields.index("KW_ONLY") > MOST_FIELDS
    return len(fields) > MOST_FIELDS and any(
        ast.unparse(decorator).startswith("dataclass") and "kw_only=True" not in ast.unparse(decorator)
        for decorator in node.decorator_list
    )


def positional_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and len(node.args) > MOST_POSITIONAL


def long_constructor(node: ast.AST) -> bool:
    if not isinstance(node, ast.FunctionDef) or node.name != "__init__":
        return False
    has_docstring = ast.get_docstring(node) is not None and len(node.body) > 1
    first = node.body[1] if has_docstring else node.body[0]
    return (node.end_lineno or 0) - first.lineno + 1 > MOST_LINES


def assigns_elsewhere(node: ast.AST) -> bool:
    """True if it assigns an attribute of an object other than `self` or `cls`."""
    match node:
        case ast.Assign(targets=targets):
            pass
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
            targets = [target]
        case _:
            return False
    return any(
        isinstance(part, ast.Attribute)
        and not (isinstance(part.value, ast.Name) and part.value.id in {"self", "cls"})
        for target in targets
        for part in (target.elts if isinstance(target, ast.Tuple) else [target])
    )


Rule = Callable[[ast.AST], bool]
Found = dict[Rule, Counter[str]]
RULES: tuple[Rule, ...] = (positional_dataclass, positional_call, long_constructor, assigns_elsewhere)


@pytest.fixture(scope="module")
def found() -> Found:
    """The number of nodes that each rule finds, by file. To parse all files takes a second."""
    by_rule: Found = {rule: Counter() for rule in RULES}
    for path, node in nodes():
        for rule in RULES:
            if rule(node):
                by_rule[rule][path] += 1
    return by_rule


def test_dataclass_with_more_than_four_fields_is_keyword_only(found: Found) -> None:
    assert found[positional_dataclass] == {}


def test_no_call_passes_six_positional_arguments(found: Found) -> None:
    assert found[positional_call] == {}


def test_constructor_has_fewer_than_twenty_lines(found: Found) -> None:
    assert found[long_constructor].keys() <= LONG_CONSTRUCTORS.keys()


def test_attribute_is_assigned_by_its_own_object_alone(found: Found) -> None:
    assert found[assigns_elsewhere].keys() <= ASSIGNED_ELSEWHERE.keys()


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        (
            positional_dataclass,
            "@dataclass(frozen=True)\nclass A:\n a: int\n b: int\n c: int\n d: int\n e: int",
        ),
        (positional_call, "f(1, 2, 3, 4, 5, 6)"),
        (long_constructor, "class A:\n def __init__(self):\n" + "  self.a = 1\n" * 20),
        (assigns_elsewhere, "part.changed = handler"),
        (assigns_elsewhere, "self.part.changed += 1"),
    ],
)
def test_rule_finds_code_that_breaks_it(rule: Rule, code: str) -> None:
    assert any(rule(node) for node in ast.walk(ast.parse(code)))
