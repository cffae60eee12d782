"""YAML that somebody else wrote, as a kubeconfig or the policy: read within bounds, and never quoted.

No parser of YAML is safe with any document: merged aliases grow without limit, and each node costs time. Of
a key that is there twice, each program would take another one. What the library says of an error quotes the
line that it is in, so it is not even the cause of ours.
"""

from collections.abc import Mapping
from typing import Any

import yaml

Document = Mapping[str, Any]

LONGEST = 256 * 1024
"""Bytes; the kubeconfig of a workload cluster has 6,000."""
MOST_NODES = 5_000
"""Mappings, lists and scalars; such a kubeconfig has 40."""
DEEPEST = 20
"""Nodes in nodes; such a kubeconfig has 5."""


class NoDocumentError(Exception):
    """Says what is wrong, in words that quote nothing."""


class EmptyDocumentError(NoDocumentError):
    """There is nothing in it but comments."""

    def __init__(self) -> None:
        super().__init__("it is empty")


def read_document(text: bytes | str) -> Document:
    """The mapping that it is.

    Raises:
        NoDocumentError: it is none, or not one that is read here.

    """
    if len(text) > LONGEST:
        raise NoDocumentError(f"it is longer than {LONGEST // 1024} KiB")
    content = _load(_decoded(text))
    if content in (None, {}):
        raise EmptyDocumentError
    if not isinstance(content, dict):
        raise NoDocumentError("it is YAML, but no mapping")
    return content


def _decoded(text: bytes | str) -> str:
    try:
        return text if isinstance(text, str) else text.decode()
    except UnicodeDecodeError:
        why = "it is no text"
    raise NoDocumentError(why)


def _load(text: str) -> Any:  # noqa: ANN401  whatever YAML can be
    try:
        return yaml.load(text, Loader=_BoundedLoader)  # noqa: S506  it is a SafeLoader
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        why = f"line {mark.line + 1} is no YAML" if mark else "it is no YAML"
    except ValueError:  # a number or a date that is none
        why = "it has a value that cannot be read"
    raise NoDocumentError(why)


class _BoundedLoader(yaml.SafeLoader):
    """Of a document that may be hostile."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._nodes = 0
        self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:  # noqa: ANN401  as there
        if self.check_event(yaml.AliasEvent):
            raise NoDocumentError("it has an alias")
        self._nodes += 1
        if self._nodes > MOST_NODES:
            raise NoDocumentError("it has too many parts")
        if self._depth == DEEPEST:
            raise NoDocumentError("it is nested too deeply")
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002  as there
        names = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        if len(names) > len(set(names)):
            raise NoDocumentError("it has a key twice in one mapping")
        return super().construct_mapping(node, deep)
