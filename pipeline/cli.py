"""Root of the command line: names, one-line help and where each command lives. No logic.

Commands are imported only when they are called, so that ``--help`` stays fast.
"""

from __future__ import annotations

import importlib
import io
import os
import sys

import click

from pipeline import __version__
from pipeline.errors import PipelineError, one_line

_INTERRUPTED = 130  # as shells count an end by Ctrl-C

# command name -> (module:function, one-line help)
COMMANDS = {
    "render": ("pipeline.commands.stages:render", "Stage: cells and judge requests from the dataset."),
    "judge": ("pipeline.commands.judge:judge", "Stage: an answer for every request."),
    "parse": ("pipeline.commands.stages:parse", "Stage: answers into tables."),
    "score": ("pipeline.commands.stages:score", "Stage: tables into score reports."),
    "report": ("pipeline.commands.stages:report", "Stage: tables into the leaderboard for people."),
    "seal": ("pipeline.commands.stages:seal", "Stage: the manifest over everything."),
    "record": ("pipeline.commands.record:record", "Keep this run's answers in data/recorded/."),
    "ledger": ("pipeline.commands.ledger:ledger", "Look at, share and mend the answer ledger."),
    "requests": ("pipeline.commands.requests:requests", "Look at judge requests."),
    "annotation": ("pipeline.commands.annotation:annotation", "Read judge answers."),
    "dataset": ("pipeline.commands.dataset:dataset", "Check and fingerprint a dataset."),
    "published": ("pipeline.commands.published:published", "Rebuild, check and audit published runs."),
    "trace": ("pipeline.commands.trace:trace", "Where a number comes from, down to the bytes."),
    "diff": ("pipeline.commands.diff:diff", "What differs between two runs, and because of what."),
    "verify": ("pipeline.commands.verify:verify", "Check a run's files, and recompute every number."),
    "signature": ("pipeline.commands.signature:signature", "Read a judge signature."),
    "sql": ("pipeline.commands.sql:sql", "Query the tables."),
    "db": ("pipeline.commands.sql:db", "Build a local DuckDB file for browsing."),
}


class LazyGroup(click.Group):
    """A group that knows its commands by name and imports one when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order of ``COMMANDS``."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return the command of that name, None if there is none."""
        if cmd_name not in COMMANDS:
            return None
        module, function = COMMANDS[cmd_name][0].split(":")
        command: click.Command = getattr(importlib.import_module(module), function)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands from ``COMMANDS``, importing none."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="pipeline")
def cli() -> None:
    """Reference pipeline for LLM-judged translation benchmarks."""


def main() -> None:
    """Run the command line; turn every expected error into one line and its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = cli.main(prog_name="python -m pipeline", standalone_mode=False)
        sys.stdout.flush()
    except PipelineError as error:
        code = _failed(str(error), error.exit_code)
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        code = _failed("interrupted; what was written before is whole: run it again to go on", _INTERRUPTED)
    except ModuleNotFoundError as error:
        code = _failed(f"{error.name} is missing from this Python; activate .venv (see README)", 1)
    except BrokenPipeError:
        code = _silent(1)
    except OSError as error:
        where = f" {error.filename}" if error.filename else " the output"
        code = _silent(_failed(one_line(f"cannot write or read{where} ({error.strerror}); make room"), 1))
    sys.exit(code if isinstance(code, int) else 0)


def _failed(message: str, code: int) -> int:
    click.echo(f"error: {message} [exit code {code}]", err=True)
    return code


def _silent(code: int) -> int:
    """Keep the interpreter from flushing once more into an output that is gone or full."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code
