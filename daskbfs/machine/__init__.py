"""What this machine has, and writing files that are whole or not there."""
