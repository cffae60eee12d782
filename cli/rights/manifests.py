"""Manifests: the roles of the table of rights as files of `deploy/`, with the reason above each rule.

They are written as text, because a library would lose the comments, which are half of what a reviewer reads.
Every file is in `deploy/`, and taken from the `granted_by` of its rows.
"""

from collections.abc import Iterable, Iterator, Mapping
from textwrap import wrap

from cli.rights.roles import Role, roles
from health.kinds.right import Right
from runtime.process_names import NAMESPACE, SERVICE_ACCOUNTS

API = "rbac.authorization.k8s.io"
LINE = 118
MADE = "Made by `make rights` from the table of rights (docs/rights.md); needed"


def manifests(rights: Iterable[Right]) -> Mapping[str, str]:
    """The text of each file that grants some of these, by its path."""
    files: dict[str, list[Right]] = {}
    for right in rights:
        files.setdefault(right.granted_by, []).append(right)
    return {path: _manifest(rows) for path, rows in files.items()}


def comment(text: str, indent: str = "") -> Iterator[str]:
    """Lines of a comment."""
    yield from wrap(text, LINE, initial_indent=f"{indent}# ", subsequent_indent=f"{indent}# ")


def _manifest(rights: list[Right]) -> str:
    (needed,) = {right.part.needed for right in rights}
    documents = [document for role in roles(rights) for document in (_role(role), _binding(role))]
    return "\n".join(comment(f"{MADE} {needed}.")) + "\n" + "---\n".join(documents)


def _role(role: Role) -> str:
    rules = [line for right in role.rights for line in _rule(right)]
    return _text(*_head(role.kind, role), "rules:", *rules)


def _rule(right: Right) -> Iterator[str]:
    yield from comment(f"{right.why[0].upper()}{right.why[1:]}.", "  ")
    group = right.group or '""'
    yield f"  - apiGroups: [{group}]"
    yield f"    resources: [{right.resource}]"
    if right.name:
        yield f"    resourceNames: [{right.name}]"
    yield f"    verbs: [{', '.join(right.verbs)}]"


def _binding(role: Role) -> str:
    account = SERVICE_ACCOUNTS[role.process]
    return _text(
        *_head(f"{role.kind}Binding", role),
        "roleRef:",
        f"  apiGroup: {API}",
        f"  kind: {role.kind}",
        f"  name: {role.name}",
        "subjects:",
        f"  - {{kind: ServiceAccount, name: {account}, namespace: {NAMESPACE}}}",
    )


def _head(kind: str, role: Role) -> Iterator[str]:
    yield from (f"apiVersion: {API}/v1", f"kind: {kind}", "metadata:", f"  name: {role.name}")
    if role.namespace:
        yield f"  namespace: {role.namespace}"


def _text(*lines: str) -> str:
    return "".join(f"{line}\n" for line in lines)
