"""Ids of a length that Temporal stores.

Temporal refuses a longer id where `limit.maxIDLength` says so, and its SQL stores fail for longer ids and
Keywords (PostgreSQL, MySQL); the development server accepts them.
"""

from hashlib import sha256

LONGEST = 255
"""The longest id or Keyword, in bytes."""
_HASH_LENGTH = 16
_CUT = "~"
"""No name in Kubernetes contains it, so a cut id never equals a full one."""


def bounded_id(text: str, ending: str = "") -> str:
    """`text` with `ending`; if that is too long, `text` is cut and ends with its hash."""
    encoded, longest = text.encode(errors="surrogatepass"), LONGEST - len(ending.encode())
    if len(encoded) <= longest:
        return text + ending
    digits = sha256(encoded).hexdigest()[:_HASH_LENGTH]
    beginning = encoded[: longest - _HASH_LENGTH - len(_CUT)].decode(errors="ignore")
    return f"{beginning}{_CUT}{digits}{ending}"


def is_cut(bounded: str) -> bool:
    return _CUT in bounded
