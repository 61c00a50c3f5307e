"""What was measured: records, on their way to the scheduler, and what it remembers of them."""
