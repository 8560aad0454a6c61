"""The parts of documents that are made from code."""
