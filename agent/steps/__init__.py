"""The story: one public verb a file, one or two short transactions each."""
