#!/usr/bin/env bash
# Validates objects by the definitions.
source "$(dirname "$0")/review.sh"

options
lines "$ESPALIER_DEFINITIONS"
OPTIONS+=("${LINES[@]/#/--crd=}")
if [ "$ESPALIER_ALLOW_UNCHECKED" = true ]; then
  OPTIONS+=(--allow-unchecked)
fi
lines "$ESPALIER_OBJECTS"
review "Objects" /dev/null validate "${OPTIONS[@]}" -- "${LINES[@]}"
