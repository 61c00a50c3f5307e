"""Checks of search trees, against rows and against the input edges."""
