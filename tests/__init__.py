"""Tests trust no authority of this machine, as none of their servers has its certificate from one.

Each client of an API server would read all of those authorities anew, which takes 50 ms. Processes that are
forked (tests/forked.py) do without them, too; programs that a test starts as a person does read them.
"""

import ssl


def _read_none(self: ssl.SSLContext, purpose: ssl.Purpose = ssl.Purpose.SERVER_AUTH) -> None:
    """As `load_default_certs`."""


ssl.SSLContext.load_default_certs = _read_none  # type: ignore[method-assign]  # of tests alone
