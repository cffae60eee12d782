"""The rules of NodeHealthCheck alone: its spec, status and Events (semantics/nodehealthcheck.md)."""
