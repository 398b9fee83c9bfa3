"""The command line: parse, call a job, show progress, choose an exit status."""


def main() -> None:
    """Run the command line."""
    from bakeoff.cli.main import cli

    cli()
