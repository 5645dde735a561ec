"""`python -m labkit` is the program `labkit`."""

from labkit.cli import main

main()
