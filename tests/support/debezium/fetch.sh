#!/bin/sh
# Collect the jars of Kafka Connect and Debezium once, outside the source tree, and print the folder that holds them. Safe to run from several
# builds at the same time: the folder appears under its final name only when it is complete.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
version=$(sed -n '/debezium-connector-mariadb/,/version/s/.*<version>\(.*\)<\/version>.*/\1/p' "$here/pom.xml")
cache=${MILLRACE_CACHE:-$HOME/.cache/millrace}
target=$cache/debezium-mariadb-$version

if [ ! -d "$target" ]; then
    mkdir -p "$cache"
    part=$(mktemp -d "$cache/debezium-part.XXXXXX")
    trap 'rm -rf "$part"' EXIT
    # Maven writes nothing beside the pom for this goal, but it wants a folder it may write to.
    cp "$here/pom.xml" "$part/pom.xml"
    if ! mvn -q -B -f "$part/pom.xml" dependency:copy-dependencies -DoutputDirectory="$part/libs" >&2; then
        echo "fetch.sh: Maven could not collect the jars of Debezium $version" >&2
        exit 1
    fi
    chmod 755 "$part/libs"
    # mv -T refuses a folder that is not empty: whoever comes second keeps the first one's jars.
    mv -T "$part/libs" "$target" 2>/dev/null || [ -d "$target" ]
fi
echo "$target"
