"""Writes keys for payloads into files, in the format that users write."""

from base64 import b64encode
from pathlib import Path

from runtime.payload_codec import PayloadKeys

LAST_YEAR, THIS_YEAR = ("2025", bytes(range(32))), ("2026", bytes(range(100, 132)))


def keys_file(
    path: Path, *keys: tuple[str, bytes], encrypts: bool = True, requires_encryption: bool = False
) -> Path:
    lines = [f"encrypt: {str(encrypts).lower()}", "keys:"]
    if requires_encryption:
        lines.insert(0, "requireEncryption: true")
    for name, key in keys:
        lines += [f"  - name: '{name}'", f"    secret: {b64encode(key).decode()}"]
    path.write_text("\n".join(lines))
    return path


def read(path: Path) -> PayloadKeys:
    return PayloadKeys.read(str(path))
