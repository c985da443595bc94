"""The command itself: it reads arguments, runs what they ask for, and says in one sentence what is wrong."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any, NoReturn

from mercer._version import __version__
from mercer.cli import completion, demo, fit, info, predict, report
from mercer.cli.terminal import CommandError, complain
from mercer.exceptions import MercerError

__all__ = ["main", "new_parser"]

#: the modules of the subcommands: each adds its parser, with the function that it runs
COMMANDS = (demo, fit, predict, report, info, completion)
#: exit codes: what the user can put right, and Ctrl-C
USER_ERROR, INTERRUPTED = 2, 130
EXAMPLES = """examples:
  mercer demo --out trial
  mercer fit quantile flats.csv --target rent --out rent.mercer
  mercer predict rent.mercer new.csv --levels .05,.5,.95 -o quantiles.csv
  mercer report rent.mercer flats.csv -o report.html
  mercer info rent.mercer
  mercer fit curves --help
"""


class _Parser(argparse.ArgumentParser):
    """A parser that says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        complain("error", f"{message}; see {self.prog} --help")
        raise SystemExit(USER_ERROR)


def new_parser() -> argparse.ArgumentParser:
    """Return the parser of all subcommands."""
    parser = _Parser(
        prog="mercer",
        description="Functions of functions from tables: every quantile, cost, level, curve or field from one fit.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"mercer {__version__}")
    commands = parser.add_subparsers(title="commands", dest="command", required=True, metavar="COMMAND")
    for module in COMMANDS:
        module.add(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, and return its exit code: 0, or 2 where the user can put right what is wrong.

    Examples
    --------
    >>> main(["info", "nothing.mercer"])
    2
    """
    parser = new_parser()
    try:
        options = parser.parse_args(arguments)
    except SystemExit as error:  # of --help and --version, and of arguments that are wrong
        return int(error.code or 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("always", category=UserWarning, module=r"mercer\.")
        warnings.showwarning = _show_warning
        try:
            options.run(options, parser)
            sys.stdout.flush()
        except KeyboardInterrupt:
            complain("error", "stopped")
            return INTERRUPTED
        except BrokenPipeError:  # whoever reads has seen enough, such as head
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        except FileNotFoundError as error:
            complain("error", f"there is no file or folder {error.filename}")
        except OSError as error:
            complain(
                "error", f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error)
            )
        except (MercerError, CommandError, ValueError) as error:
            complain("error", str(error))
        else:
            return 0
    return USER_ERROR


def _show_warning(message: Any, *_: Any, **__: Any) -> None:
    complain("warning", str(message))


if __name__ == "__main__":
    sys.exit(main())
