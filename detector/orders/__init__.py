"""Orders by annotation: the detector's part."""
