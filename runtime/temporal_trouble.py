"""Explains to people why Temporal cannot be used.

The core describes a failed connection in Rust's debug format when it opens one, and as "tcp connect error" or
"http2 error" later. People get one sentence, with the address, that does not change as the errors of one
outage vary. The retrying code logs the core's own message.

An error that Temporal answered is another matter: people get its status and its message. The status alone
does not show it, because Temporal also answers UNAVAILABLE or UNKNOWN; the core is recognized by its words.
"""

import re
from dataclasses import dataclass

from temporalio.service import RPCError, RPCStatusCode

SILENCE = "Temporal does not answer"
NOT_USABLE = "Temporal cannot be used yet"
_OF_THE_CORE = re.compile(
    r"(tcp connect|tcp open|transport|http2|dns) error|connection error(?!: desc)|h2 protocol error"
    r"|error trying to connect|error (shutting down|reading a body from|writing a body to) connection"
    r"|Timeout expired|channel closed|connection closed|operation was canceled|Service was not ready"
    rf"|client error|{re.escape(NOT_USABLE)}"
)
"""The beginnings of messages about a call without an answer; "connection error: desc" is of Temporal."""
_ANSWERED = re.compile(r'Status \{ code: (\w+), (?:message: "((?:[^"\\]|\\.)*)", )?.*source: None')
"""An answer in the debug output; the core gives another error as the source of its own."""
_OF_THE_CLIENT = {
    RPCStatusCode.RESOURCE_EXHAUSTED,
    RPCStatusCode.PERMISSION_DENIED,
    RPCStatusCode.UNAUTHENTICATED,
}
"""Answers about the client, whatever it calls for."""
_UNABLE = {
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


class TemporalRefuses(TemporalUnreachable):
    """Temporal, or a proxy before it, answers with an error, which the message names with its status."""


def is_silence(error: BaseException) -> bool:
    """True if a call failed with its connection, so that there is no answer of Temporal."""
    return isinstance(error, RPCError) and _OF_THE_CORE.match(error.message) is not None


def is_for_all(error: RPCError) -> bool:
    """True if other calls would fail too: Temporal does not answer, is unable, too busy, or refuses us."""
    if is_silence(error) or error.status in _OF_THE_CLIENT:
        return True
    return error.status in _UNABLE and not error.grpc_status.details


def may_be_of_one(error: RPCError) -> bool:
    """True for an answer that may concern one workflow alone: a database refuses some values, for example."""
    return not is_silence(error) and error.status not in _OF_THE_CLIENT


def answered(error: RPCError) -> str:
    """An answered error in words: "PermissionDenied: Request unauthorized."."""
    return _in_words(error.status.name.title().replace("_", ""), error.message)


def _in_words(status: str, message: str) -> str:
    return f"{status}: {' '.join(message.split())}" if message.strip() else status


def trouble_with(address: str, error: RPCError) -> TemporalUnreachable:
    """The error for a failed call of a Temporal to which there was a connection."""
    if is_silence(error):
        return TemporalUnreachable(f"Temporal at {address} does not answer")
    return refusing(address, answered(error))


def refusing(address: str, answer: str) -> TemporalRefuses:
    return TemporalRefuses(f"Temporal at {address} answers {answer}")


def unconnected(address: str, error: BaseException) -> TemporalUnreachable:
    """The error for a failed connection, with the answer or else the innermost reason in `error`."""
    message = " ".join(str(error).split()) or type(error).__name__
    if found := _ANSWERED.search(message):
        return refusing(address, _in_words(found[1], found[2] or ""))
    reason = "the connection failed" if "::" in message else message
    for pattern, meaning in _REASONS:
        if found := pattern.search(message):
            reason = found.expand(meaning)
            break
    return TemporalUnreachable(f"Temporal at {address} cannot be reached: {reason}")


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
