#!/bin/bash
# Fetch what the tests need beside Debian's packages: the broker's jars, and the oldest and newest supported PostgreSQL. Cached outside the tree, in
# ${MILLRACE_CACHE:-~/.cache/millrace}.
set -euo pipefail
cd "$(dirname "$0")"
kafka/fetch.sh >/dev/null
for version in 13.18.0 18.1.0; do
    ./fetch_postgres.sh "$version" >/dev/null
done
