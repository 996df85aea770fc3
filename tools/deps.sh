#!/usr/bin/env bash
# Installs what is missing of the things named: cc (a C compiler, for the race detector), pip (to fetch Envoy).
# As another user than root it names the command instead.
set -euo pipefail

has_cc() { echo '#include <stdlib.h>' | $(go env CC) -E -x c -o /dev/null - 2>/dev/null; }
has_pip() { python3 -m pip --version >/dev/null 2>&1; }

packages=()
for thing in "$@"; do
	case $thing in
	cc) has_cc || packages+=(gcc libc6-dev) ;;
	pip) has_pip || packages+=(python3-pip) ;;
	*) echo "deps: unknown: $thing" >&2 && exit 2 ;;
	esac
done
if [[ ${#packages[@]} == 0 ]]; then
	exit 0
fi
install="apt-get install --yes --no-install-recommends ${packages[*]}"
if [[ $EUID != 0 ]] || ! command -v apt-get >/dev/null; then
	echo "missing: ${packages[*]}. Run: sudo $install" >&2
	exit 1
fi
echo "installing ${packages[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update --quiet=2
$install --quiet=2
