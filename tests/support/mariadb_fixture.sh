#!/bin/bash
# One MariaDB server for the tests: unix socket, and TCP on a free loopback port.
#
#   mariadb_fixture.sh start DIR [target|source]   start it on an empty data folder; its URL stands in DIR/url when it answers, and is printed
#   mariadb_fixture.sh stop DIR                    end it by its process id, wait until it is gone, remove its data
#
# A `source` writes the binary log that Debezium reads. `start` ends a server that an interrupted run left behind in the same DIR. As root the
# server runs as nobody. It comes from Debian's mariadb-server-core, which has no service that could be running. mysql_common.sh says what
# stands in DIR.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
name=mariadb_fixture.sh
action=${1:-} dir=${2:-} role=${3:-target}
# shellcheck source=mysql_common.sh
. "$here/mysql_common.sh"
usage="usage: $name start DIR [target|source] | stop DIR"

# Run as the user who owns the server. cd: that user may not be able to enter ours.
as_owner() {
    if ((EUID != 0)); then
        "$@"
    else
        (cd / && exec setpriv --reuid=nobody --regid="$(id -g nobody)" --clear-groups -- "$@")
    fi
}

answers() {
    mariadb --no-defaults --protocol=tcp -h 127.0.0.1 -P "$1" -u "$user" "-p$password" -e 'SELECT 1' test >/dev/null 2>&1
}

start_once() {
    local home port pid options=()
    stop_server
    home=$(mktemp -d /tmp/millrace-my.XXXXXX)
    echo "$home" >"$dir/home"
    mkdir "$home/data" "$home/run" "$home/tmp"
    make_certificates "$home/run"
    write_init "$home/run/init.sql"
    chmod -R a+rX "$home"
    if ((EUID == 0)); then
        chown -R nobody "$home"
    fi
    as_owner mariadb-install-db --no-defaults --datadir="$home/data" --auth-root-authentication-method=normal --skip-test-db \
        --skip-name-resolve >"$home/install.log" 2>&1 || { cat "$home/install.log" >&2; die "mariadb-install-db failed"; }

    if [[ $role == source ]]; then
        options=(--log-bin=binlog --binlog-format=ROW --binlog-row-image=FULL --server-id=4711)
    fi
    port=$(free_port)
    echo "$home/run/server.log" >"$dir/log"
    echo "$home/data" >"$dir/mark"
    # Its own session and no open pipe of ours: whoever started us may end or wait for our output. Nothing outlives the test: no flush at commit.
    as_owner setsid mariadbd --no-defaults --datadir="$home/data" --tmpdir="$home/tmp" --socket="$home/run/s.sock" \
        --pid-file="$home/run/pid" --bind-address=127.0.0.1 --port="$port" --init-file="$home/run/init.sql" \
        --ssl-ca="$home/run/ca.pem" --ssl-cert="$home/run/server-cert.pem" --ssl-key="$home/run/server-key.pem" \
        --character-set-server=utf8mb4 --skip-name-resolve --innodb-flush-log-at-trx-commit=0 --innodb-flush-method=nosync \
        --innodb-buffer-pool-size=128M --innodb-log-file-size=128M --innodb-doublewrite=0 --performance-schema=0 \
        --max-connections=200 "${options[@]}" >"$home/run/server.log" 2>&1 </dev/null &
    pid=$!
    echo "$pid" >"$dir/pid"
    await_server "$pid" "$port" || return 1
    # setpriv and setsid have become the server, but a shell in between may be what we counted as the child.
    cat "$home/run/pid" >"$dir/pid"
    echo "$home/run/s.sock" >"$dir/socket"
    cp "$home/run/ca.pem" "$dir/ca.pem"
    publish "$port"
}

[[ -n $dir && $role =~ ^(target|source)$ ]] || die "$usage"
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)

case $action in
start)
    PATH=$PATH:/usr/sbin
    for program in mariadbd mariadb-install-db mariadb openssl; do
        command -v "$program" >/dev/null || die "$program is not installed"
    done
    # Another process may have taken the port between our look and the server's bind: a few attempts.
    for attempt in 1 2 3; do
        if start_once; then
            cat "$dir/url"
            exit 0
        fi
        echo "$name: attempt $attempt failed" >&2
    done
    tail -n 30 "$(cat "$dir/log")" >&2
    die "the server does not answer"
    ;;
stop)
    stop_server
    ;;
*)
    die "$usage"
    ;;
esac
