# shellcheck shell=bash
# What the steps have in common; they source it.
set -euo pipefail

SUMMARY_BYTES=500000 # GitHub refuses summaries of more than 1 MiB a step

# lines TEXT: its lines that are not empty, into the array LINES
lines() {
  local line
  LINES=()
  while IFS= read -r line; do
    if [[ "$line" =~ [^[:space:]] ]]; then LINES+=("$line"); fi
  done <<< "$1"
}

# review TITLE KNOWN ARGUMENTS...: annotate the lines, write the summary and the exit code
review() {
  local title="$1" known="$2" code=0 work stop
  shift 2
  work="$(mktemp -d "$RUNNER_TEMP/espalier.XXXXXX")"
  espalier "$@" > "$work/annotations" 2> "$work/messages" || code=$?
  # GitHub shows ten annotations of a step at the most; those of an earlier step need no place in it.
  grep --line-regexp --fixed-strings --invert-match --file="$known" "$work/annotations" || true
  # Messages contain names of files, so GitHub must not look for commands in them.
  stop="$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')"
  echo "::stop-commands::$stop"
  cat "$work/messages"
  echo "::$stop::"
  {
    printf '### %s\n\n' "$title"
    espalier "${@/--output=github/--output=markdown}" 2> /dev/null | head -c "$SUMMARY_BYTES" || true
    printf '\n'
  } >> "$GITHUB_STEP_SUMMARY"
  {
    echo "code=$code"
    echo "annotations=$work/annotations"
  } >> "$GITHUB_OUTPUT"
}

# options: those of all commands, into the array OPTIONS
options() {
  OPTIONS=(--output=github "--profile=$ESPALIER_PROFILE" "--fail-on=$ESPALIER_FAIL_ON")
  if [ -n "$ESPALIER_KUBERNETES_VERSION" ]; then
    OPTIONS+=("--kubernetes-version=$ESPALIER_KUBERNETES_VERSION")
  fi
}
