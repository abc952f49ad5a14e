"""``python -m tableformats``: the command, without its script on the path."""

import sys

from .cli import main

sys.exit(main())
