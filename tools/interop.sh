#!/usr/bin/env bash
# Fetches what test/interop/packages.txt names into .cache/interop, each checked by its hash. What is there stays.
set -euo pipefail
cd "$(dirname "$0")/.."

list=test/interop/packages.txt
to=.cache/interop

# fetch REGISTRY PACKAGE VERSION [source]: brings one archive into the current folder.
fetch() {
	case $1 in
	npm) npm pack --silent "$2@$3" >/dev/null ;;
	pypi)
		local kind=--only-binary
		[[ ${4:-} != source ]] || kind=--no-binary
		python3 -m pip download --quiet --disable-pip-version-check --no-deps "$kind" :all: "$2==$3"
		;;
	esac
}

# unpack ARCHIVE FOLDER: an archive with one folder in it loses that.
unpack() {
	case $1 in
	*.whl) python3 -m zipfile -e "$1" "$2" ;;
	*) tar -xzf "$1" -C "$2" --strip-components=1 ;;
	esac
}

command -v npm >/dev/null || { echo "interop: npm is missing (it comes with Node.js)" >&2 && exit 1; }
tools/deps.sh pip
mkdir -p "$to"
while read -r registry package version hash folder kind; do
	if [[ -z $registry || $registry == '#'* ]]; then
		continue
	fi
	stamp=$to/$folder/.fetched
	if [[ -f $stamp && $(<"$stamp") == "$hash" ]]; then
		continue
	fi
	echo "fetching $package $version"
	rm -rf "$to/archive" "${to:?}/$folder"
	mkdir -p "$to/archive" "$to/$folder"
	(cd "$to/archive" && fetch "$registry" "$package" "$version" "$kind")
	archive=$(find "$to/archive" -type f)
	sha256sum --quiet --check <<<"$hash  $archive" || { echo "interop: $package $version is not what it was" >&2 && exit 1; }
	unpack "$archive" "$to/$folder"
	echo "$hash" >"$stamp"
	rm -r "$to/archive"
done <"$list"
