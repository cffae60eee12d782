"""TemporalTrouble: why Temporal cannot be used, in words for people.

The core tells what is wrong with a connection in debugging output of Rust when it opens one, and by "tcp
connect error" or "http2 error" later. People are told whether nobody answers, and where; that stays one
sentence however the errors of one outage vary. The core's own words are logged by whoever retries.
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
"""What the core says of its own certificate stands where it says ConnectError of the other side's."""
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
"""What the debugging output means; of several texts in it the innermost is the one for people."""


class TemporalUnreachable(Exception):
    """Nobody answers at the address of Temporal, or something that is no Temporal; one sentence."""


def is_silence(error: BaseException) -> bool:
    """Whether a call failed with its connection: what Temporal itself refuses comes with details."""
    return isinstance(error, RPCError) and error.status in _SILENT and not error.grpc_status.details


def silent(address: str) -> TemporalUnreachable:
    """Temporal answered before, and does not now."""
    return TemporalUnreachable(f"Temporal at {address} does not answer")


def unconnected(address: str, error: BaseException) -> TemporalUnreachable:
    """No connection was made: `error` says why, at its innermost."""
    said = " ".join(str(error).split()) or type(error).__name__
    return TemporalUnreachable(f"Temporal at {address} cannot be reached: {_reason(said)}")


@dataclass(frozen=True)
class Fault:
    """A setting that cannot be used, as far as only the core finds out."""

    setting: str
    """What its variable begins with."""
    what: str


def setting_at_fault(error: BaseException) -> Fault | None:
    """The setting that the core cannot use; None: something else is wrong."""
    said = " ".join(str(error).split())
    for pattern, setting, meaning in _FAULTS:
        if found := pattern.search(said):
            variable = found.expand(setting).upper().replace("-", "_")
            return Fault(f"TEMPORAL_{variable}", meaning)
    return None


def _reason(said: str) -> str:
    for pattern, meaning in _REASONS:
        if found := pattern.search(said):
            return found.expand(meaning)
    return "the connection failed" if "::" in said else said
