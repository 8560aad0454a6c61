"""skillctl: the registry's command line. ``main.run`` is the entry point."""
