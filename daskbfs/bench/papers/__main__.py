"""``python -m daskbfs.bench.papers``."""

import sys

from daskbfs.bench.papers.page import main

sys.exit(main())
