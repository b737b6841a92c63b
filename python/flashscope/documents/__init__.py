"""What the commands answer, as types: a module for each published schema (``docs/schemas``)."""
