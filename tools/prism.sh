#!/usr/bin/env bash
# Fetches Prism, the mock server that bench-mock measures beside ours, into .cache/prism. What is there stays.
set -euo pipefail
cd "$(dirname "$0")/.."

version=5.14.2 # the last one for Node.js 20
to=.cache/prism
if [[ -f $to/.fetched && $(<"$to/.fetched") == "$version" ]]; then
	exit
fi
command -v npm >/dev/null || { echo "prism: npm is missing (it comes with Node.js)" >&2 && exit 1; }
echo "fetching @stoplight/prism-cli $version"
rm -rf "$to"
mkdir -p "$to"
npm install --silent --no-audit --no-fund --no-package-lock --ignore-scripts --prefix "$to" "@stoplight/prism-cli@$version"
echo "$version" >"$to/.fetched"
