"""
Run the command line: ``python -m espalier``.
"""

from espalier.cli import main

if __name__ == "__main__":
    main()
