"""
Build Helm and kubeconform, and write the generated parts of the chart: ``make chart``.
"""

import sys

from tests.charts.generating import write
from tests.charts.tools import ToolsError, build

if __name__ == "__main__":
    write()
    try:
        build()
    except ToolsError as error:
        sys.exit(str(error))
