"""ClusterName: which cluster is meant by a configured name (`prod`), or by an identity (`prod-1a2b3c4d`)."""


def identities(given: str, identity: str) -> tuple[str, ...]:
    """What the cluster may be called by its processes, the likeliest first.

    `identity` is that of processes that are configured with `given`: so a name that ends as it does is an
    identity already, unless somebody has configured an identity as the name.
    """
    end = identity.removeprefix(given)
    return (given, identity) if given.endswith(end) else (identity,)


def configured_name(identity: str) -> str:
    """The name that a process of this identity is configured with."""
    return identity.rpartition("-")[0]
