"""
The command line of the comparison with the API server's packages.
"""

import sys

from tests.differential.running import main

sys.exit(main(sys.argv[1:]))
