"""Vendored skills: copies of other people's, pinned to commits, that provably are what they say.

The manifest names them, ``syncing`` is the only writer, ``checking`` needs no network.
"""
