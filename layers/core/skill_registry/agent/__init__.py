"""What an agent's process or a command line runs: the client of the registry's HTTP API."""
