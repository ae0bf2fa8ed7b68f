"""`python -m wirestamp_fleet`."""

import sys

from .main import main

sys.exit(main())
