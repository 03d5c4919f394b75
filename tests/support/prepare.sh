#!/bin/bash
# Fetch what the tests need beside Debian's packages: the broker's jars, Debezium's, the oldest and newest supported PostgreSQL, and MySQL. Cached outside
# the tree, in ${MILLRACE_CACHE:-~/.cache/millrace}. Without MySQL its tests are skipped; what it says is for the person who looks on.
set -euo pipefail
cd "$(dirname "$0")"
kafka/fetch.sh >/dev/null
debezium/fetch.sh >/dev/null
for version in 13.18.0 18.1.0; do
    ./fetch_postgres.sh "$version" >/dev/null
done
./fetch_mysql.sh >/dev/null || { [ $? -eq 77 ] && echo "the tests against MySQL will be skipped"; }
