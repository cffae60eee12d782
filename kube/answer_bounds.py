"""Bounds of what an API server may answer: the API server of a workload cluster must not end our process.

The transport counts bytes as they come and are unpacked, and gives up an answer that is over its bound before
any of it is parsed. etcd takes no object over 1.5 MB. A list asks for smaller pages where a page is over its
bound, so that only an object that is too large itself makes a list unreadable. The decoder stops at the first
bad item of a collection: pydantic keeps about 1 KB for each error.

`python -m bench bounds` prints what the worst answers within these bounds cost.
"""

KIB, MIB = 1024, 1024 * 1024

MOST_OF_AN_OBJECT = 1536 * KIB + 64 * KIB
"""Bytes of one object in an answer, with the envelope of a watch event."""
MOST_OF_A_PAGE = 2 * MIB
"""Bytes; a Node has 16 to 50 KB. The parser takes up to 40 times as much for small objects."""
MOST_ITEMS_OF_A_PAGE = 1_000
"""Objects; we ask for 100."""
MOST_OF_A_LIST = 512 * MIB
"""Bytes: 10,000 of the largest Nodes, twice what a cluster may have."""
MOST_PAGES = 5_000
"""Of one list; an API server may answer with empty pages for ever."""
MOST_OBJECTS = 50_000
"""Of one list."""
MOST_UNDECODABLE = 1_000
"""Objects of one list that do not decode; each is kept and logged."""
