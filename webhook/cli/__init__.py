"""The command line: one small module per command. No decision is made here."""
