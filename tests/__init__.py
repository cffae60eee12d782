"""Make TLS clients in tests skip the authorities of this machine.

No test server has a certificate from one of them, and each client of an API server would read all of them
again, which takes 50 ms. Forked processes (tests/support/cluster/forked.py) skip them, too. Programs that a
test starts as a user would do read them.
"""

import ssl


def _read_none(self: ssl.SSLContext, purpose: ssl.Purpose = ssl.Purpose.SERVER_AUTH) -> None: ...


ssl.SSLContext.load_default_certs = _read_none  # type: ignore[method-assign]  # of tests alone
