"""``mercer completion``: a script by which a shell completes the command."""

from __future__ import annotations

import argparse
from typing import Any

from mercer.cli.terminal import CommandError, say

__all__ = ["add"]

SHELLS = ("bash", "zsh", "tcsh")


def add(commands: Any) -> None:
    """Add the parser."""
    parser = commands.add_parser(
        "completion",
        help="print a script for the completion of a shell",
        description="Print a script by which a shell completes commands and options.",
        epilog="example:\n  mercer completion bash > ~/.local/share/bash-completion/completions/mercer",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", choices=SHELLS)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    """Write the script."""
    try:
        import shtab
    except ImportError as error:
        raise CommandError('completion is written by shtab: pip install "mercer[cli]"') from error
    say(shtab.complete(parser, shell=options.shell))
