#!/usr/bin/env bash
# Unpacks into .cache/node the Debian packages that a node needs beside localcluster. None is installed: a container
# runtime that is would start as a service of the machine. What is installed is used as it is.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(busybox-static containerd containernetworking-plugins nftables runc)
dir=.cache/node
stamp=$dir/packages

if [[ $EUID != 0 ]]; then
	echo "no node here, on which pods would run: only root may make one"
	exit 0
fi
mkdir -p .cache
exec 9>.cache/node.lock
flock 9 # two makes at once fetch once
if [[ -f $stamp && $(<"$stamp") == "${packages[*]}" ]]; then
	exit 0
fi
if ! command -v apt-get >/dev/null; then
	echo "node: this is no Debian. Put on PATH what its packages hold: ${packages[*]}" >&2
	exit 1
fi

rm -rf "$dir"
mkdir -p "$dir/archives/partial"
# Downloads of the packages and of what they depend on those that the machine lacks.
download() {
	apt-get install --yes --quiet=2 --no-install-recommends --download-only \
		-o Dir::Cache::archives="$PWD/$dir/archives" "${packages[@]}" >/dev/null
}
echo "fetching the packages of a node: ${packages[*]}"
export DEBIAN_FRONTEND=noninteractive
download 2>/dev/null || { apt-get update --quiet=2 && download; }
for archive in "$dir"/archives/*.deb; do
	[[ -e $archive ]] || continue # all are installed
	dpkg-deb --extract "$archive" "$dir"
done
rm -rf "$dir/archives" "$dir/usr/share"
echo "${packages[*]}" >"$stamp"
