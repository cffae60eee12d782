"""Finds targets and checks by the names that people give, in a cluster that was read."""

from collections.abc import Iterator, Sequence

from cli.shared.errors import NotFoundError
from cli.shared.parameters import is_called
from detector.inspection.inspection import Inspection
from detector.state.cluster_state import ClusterState
from detector.state.target_store import place_of
from health.check.health_check import HealthCheck
from health.model.invalid_check import InvalidCheckError
from health.model.references import CheckReference
from health.model.target import Target, TargetPlace

NODES = TargetPlace("Node", "")
_MOST_LISTED = 10


def selected(state: ClusterState, name: str) -> list[tuple[HealthCheck, Target]]:
    """Each check that selects a target of that name, with the target; a Node also names its Machine.

    CHECK/NAME limits the answer to that check.

    Raises:
        NotFoundError: nothing has that name.

    """
    found = [
        (check, target)
        for check in valid_checks(state)
        for target in _named(state, check.reference, name)
        if check.selects(target)
    ]
    if found or _exists(state, name):
        return found
    raise NotFoundError(f"no Node or Machine is called {name!r}{_hint(state, name)}")


def named_check(inspection: Inspection, name: str) -> CheckReference:
    """The check of that name.

    Raises:
        NotFoundError: no check or several have the name.

    """
    references = sorted(inspection.cluster_state.checks, key=str)
    found = [reference for reference in references if is_called(name, reference)]
    if len(found) == 1:
        return found[0]
    if found:
        raise NotFoundError(f"{name!r} is ambiguous, say which: {listed(found)}")
    there_is = f"; there is {listed(references)}" if references else "; the cluster has none"
    raise NotFoundError(f"no check is called {name!r}{there_is}")


def listed(references: Sequence[object]) -> str:
    """The first ten, and the number of the others; the JSON of a command has all."""
    more = f" and {len(references) - _MOST_LISTED} more" if len(references) > _MOST_LISTED else ""
    return f"{', '.join(map(str, references[:_MOST_LISTED]))}{more}"


def valid_checks(state: ClusterState) -> Iterator[HealthCheck]:
    for reference in sorted(state.checks, key=str):
        check = state.checks[reference].check
        if not isinstance(check, InvalidCheckError):
            yield check


def invalid_checks_for(state: ClusterState, name: str) -> list[tuple[CheckReference, InvalidCheckError]]:
    """The checks that cannot be read, with the errors, so that it is unknown whether they select the target.

    A check of a kind or namespace without a target of that name does not select it, and is left out.
    """
    return [
        (reference, entry.check)
        for reference, entry in state.checks.items()
        if isinstance(entry.check, InvalidCheckError) and any(_named(state, reference, name))
    ]


def _named(state: ClusterState, check: CheckReference, name: str) -> Iterator[Target]:
    of_check, _, rest = name.rpartition("/")
    for target in state.targets.of(check).values():
        if _is_target(name, place_of(check), target) or (
            is_called(of_check, check) and rest in (target.metadata.name, target.node_name)
        ):
            yield target


def _is_target(name: str, place: TargetPlace, target: Target) -> bool:
    metadata = target.metadata
    return is_called(name, place.reference(metadata.name, metadata.uid)) or _is_of_node(name, target)


def _is_of_node(name: str, target: Target) -> bool:
    kind, _, node = name.rpartition("/")
    return bool(target.node_name) and target.node_name == node and kind.casefold() in ("", "node")


def _exists(state: ClusterState, name: str) -> bool:
    places = {*map(place_of, state.checks), NODES}
    return any(
        _is_target(name, place, target) for place in places for target in state.targets.at(place).values()
    )


def _hint(state: ClusterState, name: str) -> str:
    """The checks, for a name that may be CHECK/NAME; else ""."""
    before, slash, rest = name.rpartition("/")
    if not slash or not _exists(state, rest):
        return ""
    if named := [check for check in state.checks if is_called(before, check)]:
        return f"; {listed(named)} does not select {rest!r}, or cannot be read"
    return f"; {rest!r} exists, and the checks are {listed(sorted(state.checks, key=str))}"
