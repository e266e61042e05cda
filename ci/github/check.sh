#!/usr/bin/env bash
# Checks the definitions as new ones.
source "$(dirname "$0")/review.sh"

options
lines "$ESPALIER_DEFINITIONS"
review "Definitions" /dev/null check "${OPTIONS[@]}" -- "${LINES[@]}"
