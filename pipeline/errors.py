"""The exception tree. Every message is one line and says what to do about it.

Errors are typed by what the caller can do: mend an input, mend the configuration, run again,
or make room. ``exit_code`` is what the command line returns.
"""

from __future__ import annotations

from pathlib import Path


class PipelineError(Exception):
    """Base of every error this package raises on purpose."""

    exit_code = 1


class InputError(PipelineError):
    """A file that was read is not what it has to be."""

    @classmethod
    def at(
        cls, file: str | Path, problem: str, *, line: int | None = None, field: str | None = None
    ) -> InputError:
        """Build the one-line message ``FILE:LINE: FIELD: PROBLEM``.

        ``problem`` says what is wrong and what is allowed. Line breaks are folded, so that
        untrusted content cannot forge a second message.
        """
        place = f"{file}:{line}" if line is not None else f"{file}"
        middle = f" {field}:" if field else ""
        return cls(one_line(f"{place}:{middle} {problem}"))


class DatasetError(InputError):
    """A dataset file breaks its schema."""


class TranslationError(InputError):
    """A translations file breaks its schema or does not fit the dataset."""


class ConfigError(InputError):
    """``params.yaml``, ``participants.yaml`` or a judge profile is wrong."""


class PromptError(InputError):
    """A prompt set is incomplete or a template names an unknown variable."""


class RecordedAnswerError(InputError):
    """A recorded answer is damaged or contradicts another one."""


class AnnotationFileError(InputError):
    """A file of answers to read is not JSON lines with a ``text`` field."""


class TablesError(InputError):
    """A folder of exported tables is missing, damaged, or of another version."""


class PublishedRunError(InputError):
    """A published run folder is incomplete or contradicts itself."""


class QueryError(InputError):
    """A SQL query was refused or failed."""


class ManifestError(InputError):
    """A manifest is missing or cannot be built from the files there are."""


class RevisionError(InputError):
    """A git revision or DVC experiment does not exist, or its run cannot be rebuilt."""


class TraceError(InputError):
    """What is to be traced names no number or cell of the run, or the run's files contradict it."""


class SignatureError(InputError):
    """A text is no judge signature, or no run id."""


class LedgerError(PipelineError):
    """The answer ledger is unusable: damaged, of a newer version, or at a relative path."""


class BackendError(PipelineError):
    """A judge backend refused in a way that asking again cannot change."""


class StorageError(PipelineError):
    """The disk is full or a path cannot be written."""


class CheckFailed(PipelineError):
    """A check ran to its end and found a difference."""


class AnswersMissing(PipelineError):
    """Some judge answers are not there yet; running again goes on where this run stopped."""

    exit_code = 3


def one_line(text: str) -> str:
    """Fold line breaks and other control characters of a message into spaces."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
