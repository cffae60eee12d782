"""Explains to people why Temporal cannot be used.

The core describes a failed connection in Rust's debug format when it opens one, and as "tcp connect error" or
"http2 error" later. People get one sentence, with the address, that does not change as the errors of one
outage vary. The retrying code logs the core's own message.
"""

import re
from dataclasses import dataclass

from temporalio.service import RPCError, RPCStatusCode

SILENCE = "Temporal does not answer"
_SILENT = {
    RPCStatusCode.UNAVAILABLE,
    RPCStatusCode.DEADLINE_EXCEEDED,
    RPCStatusCode.CANCELLED,
    RPCStatusCode.UNKNOWN,
}
_FAULTS = (
    (re.compile(r"Invalid headers: .* key '(.*?)'"), r"GRPC_META_\1", "cannot be sent as a header"),
    (re.compile(r"Invalid URI: "), "TLS_SERVER_NAME", "is no name of a server"),
    (re.compile(r"\(Transport, NoCertificatesPresented"), "TLS_CLIENT_CERT", "holds no certificate"),
    (re.compile(r"\(Transport, InvalidCertificate"), "TLS_CLIENT_CERT", "holds a certificate that is spoilt"),
    (re.compile(r"\(Transport, PrivateKeyParseError"), "TLS_CLIENT_KEY", "holds no private key"),
    (
        re.compile(r"\(Transport, General\(.*private key"),
        "TLS_CLIENT_KEY",
        "holds a private key that is spoilt",
    ),
    (
        re.compile(r"\(Transport, InconsistentKeys"),
        "TLS_CLIENT_KEY",
        "holds a private key that is not that of the client certificate",
    ),
)
"""The core uses these words for our own certificate, and ConnectError for that of the server."""
_REASONS = (
    (re.compile(r"InvalidContentType"), "it speaks no TLS"),
    (
        re.compile(r"CaUsedAsEndEntity"),
        "its certificate is not trusted (it is one of an authority, CaUsedAsEndEntity)",
    ),
    (
        re.compile(r"InvalidCertificate\((?:Other\(OtherError\()?(\w+)"),
        r"its certificate is not trusted (\1)",
    ),
    (re.compile(r".*(?:message|error): \"([^\"]+)\""), r"\1"),
)
"""Meanings of the debug output; if it contains several texts, the innermost is shown."""


class TemporalUnreachable(Exception):
    """The address of Temporal does not answer, or is of another server; the message is one sentence."""


def is_silence(error: BaseException) -> bool:
    """True if a call failed with its connection: refusals of Temporal itself have details."""
    return isinstance(error, RPCError) and error.status in _SILENT and not error.grpc_status.details


def silent(address: str) -> TemporalUnreachable:
    """The error for a Temporal that has answered before."""
    return TemporalUnreachable(f"Temporal at {address} does not answer")


def unconnected(address: str, error: BaseException) -> TemporalUnreachable:
    """The error for a failed connection, with the innermost reason in `error`."""
    message = " ".join(str(error).split()) or type(error).__name__
    return TemporalUnreachable(f"Temporal at {address} cannot be reached: {_reason(message)}")


@dataclass(frozen=True)
class Fault:
    """An invalid setting that only the core detects."""

    setting: str
    """The beginning of its variable's name."""
    what: str


def setting_at_fault(error: BaseException) -> Fault | None:
    """The setting that the core cannot use; None for any other error."""
    message = " ".join(str(error).split())
    for pattern, setting, meaning in _FAULTS:
        if found := pattern.search(message):
            variable = found.expand(setting).upper().replace("-", "_")
            return Fault(f"TEMPORAL_{variable}", meaning)
    return None


def _reason(message: str) -> str:
    for pattern, meaning in _REASONS:
        if found := pattern.search(message):
            return found.expand(meaning)
    return "the connection failed" if "::" in message else message
