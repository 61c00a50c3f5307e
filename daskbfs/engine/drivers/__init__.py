"""Drivers run the supersteps of a program: the only code that waits for futures."""
