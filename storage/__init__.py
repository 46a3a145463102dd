"""The only SQL: engine, the one transaction helper, tables, one file of functions a table."""
