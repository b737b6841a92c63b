"""The types of the documents that commands return: a module for each published schema (``docs/schemas``)."""
