"""`python -m webhook` is `drainhook`."""

from webhook.cli.main import main

if __name__ == "__main__":
    main()
