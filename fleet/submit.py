"""What `spark-submit` runs: the program, with the master and settings that it was told (`--spark configured`)."""

import sys

from wirestamp_fleet.main import main

sys.exit(main())
