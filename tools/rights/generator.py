"""Generates the text of the roles in `deploy/`, and of docs/rights.md, from the table of rights.

`python -m rights.generator` writes them.

Manifests are written as text, because a YAML library would drop the comments: the reason of each rule stands
above it. `granted_by` of a right names the file in `deploy/`. In docs/rights.md the text above the mark is
written by hand and kept.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap

from health.kinds.registry import CHECK_KINDS
from health.kinds.right import Process, Right, RightsGroup
from runtime.process_names import NAMESPACE, SERVICE_ACCOUNTS
from runtime.rights import (
    needs,
    needs_for_etcd,
    needs_for_evidence,
    needs_for_evidence_in_workload_clusters,
    needs_for_requests,
    needs_for_secret,
    needs_for_upgrade_pause,
    needs_in_workload_clusters,
    wishes_for_requests,
)
from runtime.settings import Settings

ROOT = Path(__file__).parents[2]
TEMPLATES = "…remediationtemplates"
API = "rbac.authorization.k8s.io"
LINE = 118
MADE = "Made by `make rights` from the table of rights (docs/rights.md); needed"
PAGE = "docs/rights.md"
MARK = "<!-- From here on `make rights` writes. -->\n"


def written() -> Mapping[str, str]:
    """The text of each file, by its path in the repository."""
    ours = list(of_installations())
    return {**manifests(ours), PAGE: page((ROOT / PAGE).read_text(), [*ours, *of_others()])}


def everything() -> Settings:
    """The settings of an installation that handles all kinds and serves the webhook."""
    kinds = tuple(CHECK_KINDS.values())
    return Settings(cluster="any", check_kinds=kinds, webhook_address=":9443")


def of_installations() -> Iterator[Right]:
    """The complete rights of our roles; each role is generated from these alone."""
    yield from needs(everything())
    yield from needs_for_upgrade_pause()
    yield from needs_for_etcd()
    yield from needs_for_evidence(everything())


def of_others() -> Iterator[Right]:
    """The rights on objects of names that only the user knows; the user grants them."""
    yield from needs_for_requests("", TEMPLATES, "…remediations")
    yield from wishes_for_requests("", TEMPLATES)
    for kind in CHECK_KINDS.values():
        if kind.kubeconfig_part is not None:
            yield from needs_for_secret(kind.kubeconfig_part, "of the Cluster", "<cluster>-kubeconfig")
    yield from needs_in_workload_clusters()
    yield from needs_for_evidence_in_workload_clusters()


@dataclass(frozen=True)
class Role:
    """A ClusterRole, or a Role if `namespace` is set."""

    name: str
    namespace: str
    process: Process
    rights: tuple[Right, ...]

    @property
    def kind(self) -> str:
        return "Role" if self.namespace else "ClusterRole"


def roles(rights: Iterable[Right]) -> list[Role]:
    """The roles of these rights, in the order of their first rows; namespaced roles come last."""
    grouped: dict[tuple[str, str, Process], list[Right]] = {}
    for right in rights:
        account = SERVICE_ACCOUNTS[right.process]
        name = f"{account}-{right.part.name}" if right.part.name else account
        grouped.setdefault((name, right.namespace, right.process), []).append(right)
    found = [Role(*key, tuple(rows)) for key, rows in grouped.items()]
    return sorted(found, key=lambda role: bool(role.namespace))


def manifests(rights: Iterable[Right]) -> Mapping[str, str]:
    """The text of each manifest of these rights, by its path."""
    files: dict[str, list[Right]] = {}
    for right in rights:
        files.setdefault(right.granted_by, []).append(right)
    return {path: _manifest(rows) for path, rows in files.items()}


def comment(text: str, indent: str = "") -> Iterator[str]:
    yield from wrap(text, LINE, initial_indent=f"{indent}# ", subsequent_indent=f"{indent}# ")


def _manifest(rights: list[Right]) -> str:
    (needed,) = {right.part.needed for right in rights}
    documents = [document for role in roles(rights) for document in (_role(role), _binding(role))]
    return "\n".join(comment(f"{MADE} {needed}.")) + "\n" + "---\n".join(documents)


def _role(role: Role) -> str:
    rules = [line for right in role.rights for line in _rule(right)]
    return _text([*_head(role.kind, role), "rules:", *rules])


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
    lines = (
        *_head(f"{role.kind}Binding", role),
        "roleRef:",
        f"  apiGroup: {API}",
        f"  kind: {role.kind}",
        f"  name: {role.name}",
        "subjects:",
        f"  - {{kind: ServiceAccount, name: {account}, namespace: {NAMESPACE}}}",
    )
    return _text(lines)


def _head(kind: str, role: Role) -> Iterator[str]:
    yield from (f"apiVersion: {API}/v1", f"kind: {kind}", "metadata:", f"  name: {role.name}")
    if role.namespace:
        yield f"  namespace: {role.namespace}"


def _text(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def page(stored: str, rights: Iterable[Right]) -> str:
    """The page with a table for each part of these rights; text above the mark stays."""
    parts: dict[RightsGroup, list[Right]] = {}
    for right in rights:
        parts.setdefault(right.part, []).append(right)
    tables = [line for part, rows in parts.items() for line in _table(part, rows)]
    return stored.partition(MARK)[0] + MARK + "".join(f"{line}\n" for line in tables)


def _table(part: RightsGroup, rights: list[Right]) -> Iterator[str]:
    where = sorted({right.granted_by for right in rights})
    yield ""
    yield f"## {part.needed[0].upper()}{part.needed[1:]}"
    yield f"Granted by {' and '.join(map(_quoted, where))}."
    yield ""
    yield "| process | may | on | where | because |"
    yield "|---|---|---|---|---|"
    yield from map(_row, rights)


def _row(right: Right) -> str:
    verbs = ", ".join(right.verbs)
    name = f" {right.name}" if right.name else ""
    where = f"namespace `{right.namespace}`" if right.namespace else "the cluster"
    return f"| {right.process} | {verbs} | `{right.resource_name}{name}` | {where} | {right.why} |"


def _quoted(granted_by: str) -> str:
    return f"`{granted_by}`" if granted_by.startswith("deploy/") else granted_by


if __name__ == "__main__":
    for path, text in written().items():
        (ROOT / path).write_text(text)
