"""What holds for the whole repository: sizes, imports, locks, documentation."""
