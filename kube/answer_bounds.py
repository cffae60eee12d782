"""How much an API server may answer: whoever serves a workload cluster must not be able to end our process.

An answer is counted as it comes and is unpacked, and is given up once it is larger than any real one. A Node
has 20 to 50 KB and a page 500 of them, 25 MB. An object has 3 MB at most, since kube-apiserver takes no
larger request. A list is given up by the sum of its pages: 512 MiB are 10,000 of the largest Nodes, twice
what a cluster may have. Its pages are counted, too: one may be empty and name a next one, for ever.
"""

from kube.errors import Malformed

MOST_OF_A_BODY = 64 * 1024 * 1024
MOST_OF_A_LINE = 8 * 1024 * 1024
"""Of a watch, which is one object."""
MOST_OF_A_LIST = 512 * 1024 * 1024
MOST_PAGES = 5_000


class PagesRead:
    """The pages of one list, up to now."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._pages = self._bytes = 0

    def add(self, page: bytes) -> bytes:
        """Return `page`, which belongs to the list.

        Raises Malformed: the list is larger than any real one.
        """
        self._pages += 1
        self._bytes += len(page)
        if self._pages > MOST_PAGES:
            raise Malformed(f"The list of {self._path} has over {MOST_PAGES} pages.", path=self._path)
        if self._bytes > MOST_OF_A_LIST:
            raise Malformed(f"The list of {self._path} has over {MOST_OF_A_LIST} bytes.", path=self._path)
        return page
