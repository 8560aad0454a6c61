"""Run skillctl as ``python -m skill_registry_cli``."""

from skill_registry_cli.main import run

if __name__ == "__main__":
    run()
