#!/usr/bin/env bash
# Installs one release of Espalier, and what it needs, by their hashes.
set -euo pipefail

refuse() {
  echo "::error::$1"
  exit 2
}

[[ "$ESPALIER_VERSION" =~ ^[0-9][0-9A-Za-z.+]*$ ]] ||
  refuse "the input version must be a release of Espalier, such as 0.1.0"
[[ "$ESPALIER_SHA256" =~ ^[0-9a-f]{64}$ ]] ||
  refuse "the input sha256 must be the SHA-256 digest of the wheel: 64 hexadecimal digits"
[[ "$ESPALIER_RELEASES" =~ ^(https|file)://[^[:space:]]+$ ]] ||
  refuse "the input releases must be an address that begins with https:// or file://"
requirements="${ESPALIER_REQUIREMENTS:-$GITHUB_ACTION_PATH/requirements.lock}"
[ -f "$requirements" ] ||
  refuse "there is no file of requirements: set the input requirements"
"$ESPALIER_PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
  refuse "Python 3.11 or newer is needed: use actions/setup-python before, or set the input python"

home="$RUNNER_TEMP/espalier"
mkdir -p "$home"
# By its address: under its name, an index may have another project.
wheel="$ESPALIER_RELEASES/v$ESPALIER_VERSION/espalier-$ESPALIER_VERSION-py3-none-any.whl"
printf 'espalier @ %s --hash=sha256:%s\n' "$wheel" "$ESPALIER_SHA256" > "$home/release.txt"
"$ESPALIER_PYTHON" -m venv "$home/venv"
install=("$home/venv/bin/python" -m pip --disable-pip-version-check --quiet install --require-hashes --only-binary :all:)
"${install[@]}" --requirement "$requirements"
"${install[@]}" --no-deps --requirement "$home/release.txt"
echo "$home/venv/bin" >> "$GITHUB_PATH"
