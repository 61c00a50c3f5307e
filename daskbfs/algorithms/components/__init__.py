"""Connected components: the function, the program, and what it returns."""
