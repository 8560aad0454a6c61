"""Skill Registry: publish, list and view Agent Skills, with S3 as the only store."""

__version__ = "0.1.0"
