"""A release: the wheel, manifests of its image, what it consists of, and the checksums of all that."""
