"""``python -m mercer.cli``, the command where it is not installed."""

import sys

from mercer.cli.main import main

sys.exit(main())
