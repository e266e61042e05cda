#!/usr/bin/env bash
# Checks the definitions as updates of those of the base branch.
source "$(dirname "$0")/review.sh"

base="$(mktemp -d "$RUNNER_TEMP/espalier.XXXXXX")/base"
if ! git fetch --quiet --no-tags --depth=1 origin "+refs/heads/${ESPALIER_BASE#refs/heads/}:refs/espalier/base"; then
  echo "::error::the base branch could not be fetched: leave the credentials of actions/checkout in place"
  echo "code=3" >> "$GITHUB_OUTPUT"
  exit 0
fi
git worktree add --quiet --detach --no-checkout "$base" refs/espalier/base
trap 'git worktree remove --force "$base"' EXIT

options
lines "$ESPALIER_DEFINITIONS"
found=""
for path in "${LINES[@]}"; do
  if git -C "$base" checkout --quiet refs/espalier/base -- ":(glob)${path%/}" 2> /dev/null; then found=yes; fi
done
if [ -z "$found" ]; then
  echo "The base branch has none of these files: nothing is compared."
  exit 0
fi
if [ -n "$ESPALIER_CHANGE_POLICY" ]; then
  OPTIONS+=("--change-policy=$ESPALIER_CHANGE_POLICY")
fi
review "Changes of definitions" "${ESPALIER_KNOWN:-/dev/null}" \
  check "${OPTIONS[@]}" --allow-new "--update-of=$base" -- "${LINES[@]}"
