"""What runs the levels of a search; the only rooms that wait."""
