"""Validates kubeconfig files before the library reads them, with one sentence for each error.

Errors of the library for a missing or incomplete file are accidental, and may not name the file. As in
kubectl, missing files in a list are ignored, and the first file with a current-context decides; the library
uses the last one, and we would act on another cluster.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from kube.errors import NotConfigured

Content = Mapping[str, Any]


@dataclass(frozen=True)
class Usable:
    """The files and the context for the library."""

    files: str
    """A list in the format of $KUBECONFIG."""
    context: str


def usable(files: str, context: str | None) -> Usable:
    """The existing ones of `files` (a list as in $KUBECONFIG), and the context.

    Raises:
        NotConfigured: none exists, one is not a kubeconfig, or together they lack the API server or the
            credentials of `context` (None: the current one).

    """
    paths = [_expanded(path) for path in files.split(os.pathsep) if path]
    found = [path for path in paths if _exists(path)]
    if not found:
        raise _unusable(files, "there is no such file")
    listed = os.pathsep.join(map(str, found))
    contents = [_read(path) for path in found]
    name = context or _current_context(contents)
    why = _lacks(contents, name, is_current=not context)
    if why:
        raise _unusable(listed, why)
    return Usable(listed, name)


def _expanded(path: str) -> Path:
    try:
        return Path(path).expanduser()
    except RuntimeError as error:  # ~with an unknown user name
        raise _unusable(path, str(error)) from error


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError as error:  # a folder without access
        raise _unusable(path, error.strerror or type(error).__name__) from error


def _unusable(files: str | Path, why: str) -> NotConfigured:
    return NotConfigured(f"The kubeconfig {files} cannot be used: {why}.")


def _read(path: Path) -> Content:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except IsADirectoryError as error:
        raise _unusable(path, "it is a directory") from error
    except OSError as error:
        raise _unusable(path, error.strerror or type(error).__name__) from error
    except UnicodeDecodeError as error:
        raise _unusable(path, "it is not UTF-8 text") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        why = f"line {mark.line + 1} is not valid YAML" if mark else "it is not valid YAML"
        raise _unusable(path, why) from None  # the error quotes that line, which may hold a token
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        # PyYAML's constructors raise these for a scalar that does not fit its tag.
        raise _unusable(path, "it has a value that cannot be read") from None
    if not content:
        raise _unusable(path, "it is empty")
    if not isinstance(content, dict):
        raise _unusable(path, "it is YAML, but not a mapping")
    return content


def _current_context(contents: list[Content]) -> str:
    return next(
        (str(content["current-context"]) for content in contents if content.get("current-context")), ""
    )


def _lacks(contents: list[Content], name: str, *, is_current: bool) -> str:
    """The first part that the files together lack; "" if they are complete."""
    if not name:
        return "it has no current-context"
    entry = _named(contents, "context", name)
    if entry is None:
        return f"it has no context {name!r}{', which its current-context names' if is_current else ''}"
    return _lacks_of_context(contents, name, entry)


def _lacks_of_context(contents: list[Content], name: str, entry: Content) -> str:
    cluster, user = entry.get("cluster"), entry.get("user")
    if not cluster:
        return f"its context {name!r} names no cluster"
    settings = _named(contents, "cluster", cluster)
    if settings is None:
        return f"its context {name!r} names the cluster {cluster!r}, which it does not have"
    if not _is_address(str(settings.get("server", ""))):
        return f"its cluster {cluster!r} has no server that is an address with https://"
    if not user:
        return f"its context {name!r} names no user"
    if _named(contents, "user", user) is None:
        return f"its context {name!r} names the user {user!r}, which it does not have"
    return ""


def _is_address(server: str) -> bool:
    try:
        parts = urlsplit(server)
    except ValueError:  # "[" without "]"
        return False
    return parts.scheme in {"https", "http"} and bool(parts.hostname)


def _named(contents: Iterable[Content], kind: str, name: str) -> Content | None:
    """The first cluster, context or user of that name."""
    for content in contents:
        listed = content.get(f"{kind}s")
        for entry in listed if isinstance(listed, list) else []:
            if isinstance(entry, dict) and entry.get("name") == name:
                value = entry.get(kind)
                return value if isinstance(value, dict) else {}
    return None
