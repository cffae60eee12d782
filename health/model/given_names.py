"""The names by which people call a check or target: alone, with its kind, with its namespace, or with both.

The kind may be in any case and without its group, as in kubectl.
"""

from health.model.references import CheckReference, TargetReference


def forms(reference: CheckReference | TargetReference) -> frozenset[str]:
    """All names that a person may use for the object."""
    kind, namespace, name = reference.kind_name, reference.namespace, reference.name
    return frozenset({name, f"{kind}/{name}", f"{namespace}/{name}" if namespace else name, str(reference)})


def with_kind(name: str, kind: str) -> str:
    """`name` with its kind spelled as in `kind`, if `name` begins with that kind, with or without a group."""
    first, slash, rest = name.partition("/")
    return f"{kind}/{rest}" if slash and first.casefold() in kind_names(kind) else name


def kind_names(kind: str) -> frozenset[str]:
    """The spellings of a kind, in lower case; without a group a spelling may match several kinds."""
    return frozenset({kind.casefold(), kind.partition(".")[0].casefold()})


def is_called(name: str, reference: CheckReference | TargetReference) -> bool:
    return bool({name, with_kind(name, reference.kind_name)} & forms(reference))
