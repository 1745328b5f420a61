"""What a judge said: its answer read as MQM errors and a context-behavior label."""

from pipeline.annotation.model import Annotation, AnnotationError
from pipeline.annotation.reader import Form, Mode, read_answer
from pipeline.annotation.spans import SpanLocation, locate

__all__ = ["Annotation", "AnnotationError", "Form", "Mode", "SpanLocation", "locate", "read_answer"]
