"""The command ``hyp``."""

from __future__ import annotations

import signal
import sys


def main() -> None:
    """Runs the command, and exits with its code."""
    from ._hypostyle import run_command

    # The command ends at Ctrl-C and at a closed pipe, as an executable does.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(run_command(["hyp", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
