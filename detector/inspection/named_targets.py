"""Finds targets and checks by the names that people give."""

from collections.abc import Iterator, Sequence

from detector.state.state_view import StateView
from detector.state.target_store import place_of
from health.check.health_check import HealthCheck
from health.model.references import CheckReference, is_called
from health.model.target import Target, TargetPlace, node_name
from objects.field_problem import FieldProblem

_MOST_LISTED = 10


class UnknownNameError(Exception):
    """Nothing has that name, or several objects have it; the message is one sentence."""


def listed(references: Sequence[object]) -> str:
    """The first ten, and the number of the others."""
    more = f" and {len(references) - _MOST_LISTED} more" if len(references) > _MOST_LISTED else ""
    return f"{', '.join(map(str, references[:_MOST_LISTED]))}{more}"


def named_check(state: StateView, name: str) -> CheckReference:
    """The check of that name.

    Raises:
        UnknownNameError: no check or several have the name.

    """
    last = name.rpartition("/")[2]
    of_that_name = [reference for reference in state.checks if reference.name == last]
    found = sorted((reference for reference in of_that_name if is_called(name, reference)), key=str)
    if len(found) == 1:
        return found[0]
    if found:
        raise UnknownNameError(f"{name!r} is ambiguous, say which: {listed(found)}")
    references = sorted(state.checks, key=str)
    there_is = f"; there is {listed(references)}" if references else "; the cluster has none"
    raise UnknownNameError(f"no check is called {name!r}{there_is}")


class NamedTargets:
    """The targets that one name means; a Node also names its Machine, and CHECK/NAME is for one check."""

    def __init__(self, state: StateView, name: str) -> None:
        self._state, self._name = state, name
        self._checks = sorted(state.checks, key=str)
        self._in_place: dict[TargetPlace, list[Target]] = {}
        """The targets whose own name, or that of whose Node, is the last part."""

    def selected(self) -> list[tuple[HealthCheck, Target]]:
        """Each valid check that selects such a target, with the target.

        Raises:
            UnknownNameError: nothing has that name.

        """
        checks = [(reference, self._state.checks[reference].check) for reference in self._checks]
        found = [
            (check, target)
            for reference, check in checks
            if check is not None
            for target in self._matching(reference)
            if check.selects(target)
        ]
        if found or self._exists(self._name):
            return found
        raise UnknownNameError(f"no Node or Machine is called {self._name!r}{self._hint}")

    def invalid(self) -> list[tuple[CheckReference, FieldProblem]]:
        """The checks that cannot be read, with the problems, so that it is unknown whether they select it.

        A check of a kind or namespace without a target of that name does not select it, and is left out.
        """
        found = ((reference, self._state.checks[reference].parsed.problem) for reference in self._checks)
        return [
            (reference, problem)
            for reference, problem in found
            if problem is not None and any(self._matching(reference))
        ]

    def _matching(self, check: CheckReference) -> Iterator[Target]:
        of_check, _, rest = self._name.rpartition("/")
        for target in self._of_last_part(place_of(check)):
            is_of_check = rest in (target.metadata.name, target.node_name) and is_called(of_check, check)
            if is_of_check or _is_target(self._name, place_of(check), target):
                yield target

    def _of_last_part(self, place: TargetPlace) -> list[Target]:
        if place not in self._in_place:
            last, targets = self._name.rpartition("/")[2], self._state.targets.at(place)
            by_name = [targets[last]] if last in targets else []
            of_its_node = (each for name, each in targets.items() if each.node_name == last and name != last)
            self._in_place[place] = by_name if place == node_name("").place else [*by_name, *of_its_node]
        return self._in_place[place]

    def _exists(self, name: str) -> bool:
        places = {*map(place_of, self._state.checks), node_name("").place}
        return any(
            _is_target(name, place, target) for place in places for target in self._of_last_part(place)
        )

    @property
    def _hint(self) -> str:
        """The checks, for a name that may be CHECK/NAME; else ""."""
        before, slash, rest = self._name.rpartition("/")
        if not slash or not self._exists(rest):
            return ""
        if named := [check for check in self._state.checks if is_called(before, check)]:
            return f"; {listed(named)} does not select {rest!r}, or cannot be read"
        return f"; {rest!r} exists, and the checks are {listed(self._checks)}"


def _is_target(name: str, place: TargetPlace, target: Target) -> bool:
    kind, _, node = name.rpartition("/")
    is_its_node = bool(target.node_name) and target.node_name == node and kind.casefold() in ("", "node")
    metadata = target.metadata
    return is_its_node or is_called(name, place.reference(metadata.name, metadata.uid))
