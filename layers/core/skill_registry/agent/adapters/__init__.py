"""Skills in agent frameworks: a module for each, which imports its framework when it is imported.

Each offers the tools with the names that are listed now, and appends the block of
``Skillset.instructions`` to the agent's own prompt, before every call of the model.
"""
