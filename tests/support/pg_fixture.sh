#!/bin/bash
# One PostgreSQL server for the tests, over a unix socket alone.
#
#   pg_fixture.sh start DIR [BIN]   make a cluster and start it; its URL stands in DIR/url when it answers, and is printed
#   pg_fixture.sh stop DIR          end it by its process id, wait until it is gone, remove its data
#
# BIN is the folder with initdb and postgres, or a version for fetch_postgres.sh; default: the newest Debian package. `start` begins with an empty cluster every time and ends a
# server that an interrupted run left behind in the same DIR. As root the server runs as postgres (or nobody), since it refuses to
# run as root; data and socket live in a short folder under /tmp that this user may enter. fsync is off: the data does not outlive the
# test. The server's own output is in the log file named by DIR/log.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
action=${1:-} dir=${2:-} bin=${3:-}
start_seconds=60
stop_seconds=30

die() {
    echo "pg_fixture.sh: $*" >&2
    exit 1
}

# Run as the user who owns the server. cd: that user may not be able to enter ours.
as_owner() {
    if ((EUID != 0)); then
        "$@"
    elif id postgres >/dev/null 2>&1; then
        (cd / && runuser -u postgres -- "$@")
    else
        (cd / && setpriv --reuid=nobody --regid="$(id -g nobody)" --clear-groups -- "$@")
    fi
}

newest_bin() {
    ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -t/ -k5 -n | tail -n 1
}

# The server's pid if it is alive. A pid may have been given to somebody else since: the command line must name our folder.
server_pid() {
    local home pid
    home=$(cat "$dir/home" 2>/dev/null) || return 1
    pid=$(head -n 1 "$home/data/postmaster.pid" 2>/dev/null) || return 1
    tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -qF "$home/data" || return 1
    echo "$pid"
}

stop_server() {
    local pid home deadline
    if pid=$(server_pid); then
        kill -INT "$pid" 2>/dev/null || true # "fast": ends sessions
        deadline=$((SECONDS + stop_seconds))
        while server_pid >/dev/null; do
            if ((SECONDS > deadline)); then
                kill -QUIT "$pid" 2>/dev/null || true
            fi
            sleep 0.1
        done
    fi
    home=$(cat "$dir/home" 2>/dev/null || true)
    if [[ $home == /tmp/millrace-pg.* ]]; then
        rm -rf "$home"
    fi
    rm -f "$dir/home" "$dir/url" "$dir/log"
}

# Binaries in a folder that the server's user cannot enter (a cache below /root) are copied.
usable_bin() {
    local from=$1 home=$2
    if as_owner test -x "$from/postgres" 2>/dev/null; then
        echo "$from"
        return
    fi
    mkdir "$home/dist"
    cp -r "$(dirname "$from")/." "$home/dist"
    chmod -R a+rX "$home/dist"
    echo "$home/dist/$(basename "$from")"
}

is_ready() {
    [[ $(sed -n 8p "$1/data/postmaster.pid" 2>/dev/null | tr -d ' ') == ready ]]
}

start_server() {
    local home log deadline
    home=$(mktemp -d /tmp/millrace-pg.XXXXXX)
    log=$home/log/server.log
    echo "$home" >"$dir/home"
    echo "$log" >"$dir/log"
    chmod 755 "$home"
    mkdir "$home/data" "$home/socket" "$home/log"
    chmod 700 "$home/data"
    if ((EUID == 0)); then
        chown "$(as_owner id -un)" "$home/data" "$home/socket" "$home/log"
    fi
    bin=$(usable_bin "$bin" "$home")

    as_owner "$bin/initdb" -D "$home/data" -U millrace -A trust -E UTF8 --locale=C --no-sync >"$home/initdb.log" 2>&1 ||
        { cat "$home/initdb.log" >&2; die "initdb failed"; }
    # Its own session and no open pipe of ours: whoever started us may end or wait for our output.
    as_owner setsid "$bin/postgres" -D "$home/data" -k "$home/socket" -c listen_addresses= -c fsync=off \
        -c full_page_writes=off -c synchronous_commit=off -c max_connections=100 -c shared_buffers=64MB \
        -c max_prepared_transactions=0 -c log_min_messages=warning >"$log" 2>&1 </dev/null &

    deadline=$((SECONDS + start_seconds))
    until is_ready "$home"; do
        ((SECONDS < deadline)) || { cat "$log" >&2; die "the server does not answer"; }
        sleep 0.1
    done
    echo "postgresql://millrace@/postgres?host=$home/socket" >"$dir/url.part"
    mv "$dir/url.part" "$dir/url"
}

[[ -n $dir ]] || die "usage: pg_fixture.sh start DIR [BIN] | stop DIR"
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)

case $action in
start)
    stop_server
    bin=${bin:-$(newest_bin)}
    if [[ $bin =~ ^[0-9.]+$ ]]; then
        bin=$("$here/fetch_postgres.sh" "$bin")
    fi
    [[ -x $bin/initdb && -x $bin/postgres ]] || die "no initdb and postgres in ${bin:-/usr/lib/postgresql}: install postgresql"
    start_server
    cat "$dir/url"
    ;;
stop)
    stop_server
    ;;
*)
    die "usage: pg_fixture.sh start DIR [BIN] | stop DIR"
    ;;
esac
