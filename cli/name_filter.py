"""NameFilter: a name that a person gives, against references such as `Node/a` and `Machine/ns/a`.

A name may be given alone, with its kind (in any case, as kubectl takes it), with its namespace, or with both.
Temporal compares whole values and beginnings of them: what is in a namespace is found by its kind there, and
by its name here.
"""

from dataclasses import dataclass

from health.model.references import CheckReference, TargetReference


def forms(reference: CheckReference | TargetReference) -> frozenset[str]:
    """Everything that people may call it."""
    kind, namespace, name = reference.kind, reference.namespace, reference.name
    return frozenset({name, f"{kind}/{name}", f"{namespace}/{name}" if namespace else name, str(reference)})


def with_kind(name: str, kind: str) -> str:
    """`name` with `kind` as it is written, if that is the kind in front of it."""
    first, slash, rest = name.partition("/")
    return f"{kind}/{rest}" if slash and first.casefold() == kind.casefold() else name


def is_called(name: str, reference: CheckReference | TargetReference) -> bool:
    """Whether people may call it so."""
    return bool({name, with_kind(name, reference.kind)} & forms(reference))


@dataclass(frozen=True)
class NameFilter:
    """What Temporal is asked for one name of an attribute; "" is any."""

    attribute: str
    name: str
    kinds: tuple[tuple[str, bool], ...]
    """The kinds that there are, and whether each is namespaced."""

    @property
    def query(self) -> str:
        """A condition that is true of everything with that name, and of some others."""
        conditions = [self._condition(kind, is_namespaced=namespaced) for kind, namespaced in self.kinds]
        return f"({' OR '.join(conditions)})"

    def takes(self, reference: CheckReference | TargetReference) -> bool:
        """Whether that is its name."""
        return not self.name or is_called(self.name, reference)

    def _condition(self, kind: str, *, is_namespaced: bool) -> str:
        if is_namespaced:
            return f"{self.attribute} STARTS_WITH {quoted(f'{kind}/')}"
        name = with_kind(self.name, kind).removeprefix(f"{kind}/")
        return f"{self.attribute} = {quoted(f'{kind}/{name}')}"


def quoted(text: str) -> str:
    """A value in a query."""
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"
