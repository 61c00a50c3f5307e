"""Breadth-first search: the function, the program, and what it returns."""
