"""``python -m homeward``: the command line."""

from homeward.cli import main

if __name__ == "__main__":
    main()
