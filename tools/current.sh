#!/usr/bin/env bash
# Runs the generator given as arguments and fails, with the difference, where it changes what is generated.
# Other changes in the tree do not matter, committed or not.
set -euo pipefail
cd "$(dirname "$0")/.."

generated=(api deploy/crds)
before=$(mktemp -d)
trap 'rm -rf "$before"' EXIT

cp -a --parents "${generated[@]}" "$before"
"$@"
for dir in "${generated[@]}"; do
	diff -ruN "$before/$dir" "$dir" || stale=1
done
if [[ -n ${stale-} ]]; then
	echo "generated code was not current; it is now: commit it" >&2
	exit 1
fi
