"""ServingCertificate: the certificate that we serve TLS with, from two files that somebody else renews.

The files are `tls.crt` and `tls.key`, as a Secret of type kubernetes.io/tls mounts them. New connections get
a new pair as soon as it is there; a pair that does not fit together, as in the middle of a renewal, is left.
"""

import asyncio
import ssl
from pathlib import Path

from runtime.problems import Problems

CERTIFICATE, KEY = "tls.crt", "tls.key"
LOOK_EVERY_SECONDS = 1.0

_Version = tuple[tuple[int, int], ...]


class ServingCertificate:
    """The pair of one directory."""

    def __init__(self, directory: Path, part: str, problems: Problems) -> None:
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        """For servers; it refuses every connection until there is a pair."""
        self._files = directory / CERTIFICATE, directory / KEY
        self._part = part
        self._problems = problems
        self._loaded: _Version = ()

    async def follow(self) -> None:
        """Take every new pair, for ever; what is wrong with the files is a problem of the process."""
        while True:
            self._problems.report(self._part, self._look())
            await asyncio.sleep(LOOK_EVERY_SECONDS)

    def _look(self) -> str:
        try:
            version = tuple((status.st_mtime_ns, status.st_ino) for status in map(Path.stat, self._files))
            if version != self._loaded:
                self._load()
                self._loaded = version
        except OSError as error:  # ssl.SSLError is one
            return f"cannot read {' and '.join(map(str, self._files))}: {error}"
        return ""

    def _load(self) -> None:
        # A context that takes half of a pair is spoiled, so another one tries it first.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(*self._files)
        self.context.load_cert_chain(*self._files)
