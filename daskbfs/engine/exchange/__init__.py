"""What workers of one attempt send each other, past the scheduler."""
