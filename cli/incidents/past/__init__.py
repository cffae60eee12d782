"""The past incidents of a node or Machine: how each ended, and how long each phase took."""
