"""The tables of one run in DuckDB: schema, building, export and loading."""
