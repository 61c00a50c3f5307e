"""What is here, and what is missing."""
