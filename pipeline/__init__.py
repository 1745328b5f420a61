"""Reference pipeline for LLM-judged translation benchmarks with conversational context."""

__version__ = "0.1.0"
