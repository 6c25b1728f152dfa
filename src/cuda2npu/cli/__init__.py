"""The command line: one command per file, no logic, and nothing heavy imported before it is needed."""
