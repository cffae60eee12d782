"""The table of rights as manifests and as a page: `python -m cli.rights` writes them."""
