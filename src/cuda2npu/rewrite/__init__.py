"""One file in, changes out: knows no disk and no command line."""
