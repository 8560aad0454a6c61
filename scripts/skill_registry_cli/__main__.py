"""Run skillctl, also as ``python -m skill_registry_cli``."""

import sys


def run() -> None:
    """Run the command line of this process and end it with the command's exit code."""
    try:
        # Takes a while, in which somebody may change their mind.
        from skill_registry_cli.main import run as run_arguments

        run_arguments()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    run()
