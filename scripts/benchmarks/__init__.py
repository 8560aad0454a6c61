"""Benchmarks: counts and ratios of one run, never promises in seconds."""
