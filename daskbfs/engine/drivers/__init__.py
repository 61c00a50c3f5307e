"""Drivers run the supersteps of a program: the only code that waits for futures.

Each is a module with ``async run(partitions, program, attempt, threads) -> Result``.
"""
