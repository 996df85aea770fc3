#!/usr/bin/env bash
# Builds .cache/bin/localcluster, where its sources or Go have changed since, and says how long that will take.
set -euo pipefail
cd "$(dirname "$0")/.."

module=test/localcluster
binary=.cache/bin/localcluster
stamp=.cache/localcluster.stamp
# How long it took last time is worth knowing only as long as Go and the modules are the same.
seconds=.cache/localcluster.$({ go version && cat "$module/go.sum"; } | sha256sum | head -c 8).seconds

mkdir -p .cache/bin
exec 9>.cache/localcluster.lock
flock 9 # two makes at once build it once

sources() {
	find "$module" -type f \( -name '*.go' -o -name go.mod -o -name go.sum \) ! -name '*_test.go' -print0 | sort -z
}
hash=$({ go version && sources | xargs -0 sha256sum tools/cluster.sh; } | sha256sum | cut -d' ' -f1)
if [[ -x $binary && -f $stamp && $(<"$stamp") == "$hash" ]]; then
	exit 0
fi

elapsed() { printf '%d:%02d' $((SECONDS / 60)) $((SECONDS % 60)); }

if [[ -f $seconds ]]; then
	last=$(<"$seconds")
	echo "building the local cluster: last time it took $((last / 60)):$(printf %02d $((last % 60)))"
else
	echo "building the local cluster: the first time this takes about 5 to 15 minutes on two cores"
fi
SECONDS=0
(while sleep 15 &>/dev/null && kill -0 $$; do echo "building the local cluster: $(elapsed)"; done) 9>&- &
heartbeat=$!
trap 'kill "$heartbeat"' EXIT

# Without the version in it the API server would call itself v0.0.0.
kubernetes=$(cd "$module" && go list -m -f '{{.Version}}' k8s.io/kubernetes)
IFS=. read -r major minor _ <<<"${kubernetes#v}"
version=k8s.io/component-base/version
(cd "$module" && CGO_ENABLED=0 go build -buildvcs=false -o "$OLDPWD/$binary.new" -ldflags "-s -w \
	-X $version.gitVersion=$kubernetes -X $version.gitMajor=$major -X $version.gitMinor=$minor" .)
mv "$binary.new" "$binary"
echo "$SECONDS" >"$seconds"
echo "$hash" >"$stamp"
echo "built the local cluster in $(elapsed)"
