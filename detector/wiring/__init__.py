"""Builds the detector in layers; each layer gets the layers below it as arguments."""
