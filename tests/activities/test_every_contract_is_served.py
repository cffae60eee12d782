"""Each activity that has a contract is served: by the worker, or by the leading detector."""

import ast
from collections.abc import Iterator

from devcluster.manifests import ROOT
from workflows import contracts, notification, upgrade_contracts
from workflows.kit import Contract

WIRED_IN = ("worker/worker.py", "detector/answers/answering.py", "detector/detector.py")
CONTRACTS = {
    value.name
    for module in (contracts, upgrade_contracts, notification)
    for value in vars(module).values()
    if isinstance(value, Contract)
}


def uncalled_methods(source: str) -> Iterator[str]:
    """The methods that code names without a call, as in `activities=[Act(...).act]`."""
    tree = ast.parse(source)
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and id(node) not in called:
            yield node.attr


def test_worker_or_detector_serves_each_activity_of_a_contract() -> None:
    served = {name for file in WIRED_IN for name in uncalled_methods((ROOT / file).read_text())}
    assert {"act", "observe", "sync_pauses"} <= CONTRACTS
    assert CONTRACTS - served == set(), "wire it in worker/worker.py, or in the worker of the detector"
