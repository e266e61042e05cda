#!/usr/bin/env bash
# Ends with the highest of the exit codes.
set -euo pipefail

highest=0
for code in $ESPALIER_CODES; do
  if ((code > highest)); then highest=$code; fi
done
exit "$highest"
