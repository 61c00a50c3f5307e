"""Which rows belong together, what that takes, and where they live."""
