"""Where bytes live: the store port, the key layout and its three implementations."""
