"""Creates a release: wheel, manifests with the image, bill of materials, and their checksums."""
