"""Effects on the cluster, idempotent. What acts here decides nothing but "is it still true?"."""
