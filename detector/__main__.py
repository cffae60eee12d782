"""`python -m detector`: the detector process."""

import sys

from detector.detector import run
from runtime.process import run_process

if __name__ == "__main__":
    sys.exit(run_process(run))
