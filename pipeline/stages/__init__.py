"""The stages of the pipeline: each reads files and writes files, and knows no other stage."""
