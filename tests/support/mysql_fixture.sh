#!/bin/bash
# One MySQL server for the tests, out of the private root that fetch_mysql.sh makes: unix socket, and TCP on a free loopback port.
#
#   mysql_fixture.sh start DIR    start it on an empty data folder; its URL stands in DIR/url when it answers, and is printed
#   mysql_fixture.sh stop DIR     end it by its process id, wait until it is gone, remove its data
#
# `start` ends a server that an interrupted run left behind in the same DIR. Where MySQL cannot be had, it says so, writes the reason into
# DIR/skipped, and exits with 77: tests that need it skip themselves with those words. The server runs in the root (chroot) as its user mysql;
# its folder there is reached from outside by a short link under /tmp, since the path of a socket may not be long. mysql_common.sh says what stands
# in DIR.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
name=mysql_fixture.sh
action=${1:-} dir=${2:-}
# shellcheck source=mysql_common.sh
. "$here/mysql_common.sh"
usage="usage: $name start DIR | stop DIR"

answers() {
    chroot "$root" mysql --no-defaults --protocol=tcp -h 127.0.0.1 -P "$1" -u "$user" "-p$password" -e 'SELECT 1' test >/dev/null 2>&1
}

start_once() {
    local inside outside home port pid
    stop_server
    outside=$(mktemp -d "$root/tmp/millrace-my.XXXXXX")
    inside=${outside#"$root"}
    home=$(mktemp -u /tmp/millrace-my.XXXXXX)
    ln -s "$outside" "$home"
    echo "$home" >"$dir/home"
    echo "$inside/data" >"$dir/mark"
    echo "$home/server.log" >"$dir/log"
    make_certificates "$outside"
    write_init "$outside/init.sql"
    chmod 755 "$outside"
    chmod a+r "$outside"/*
    chroot "$root" chown -R mysql "$inside"
    chroot "$root" mysqld --no-defaults --initialize-insecure --user=mysql --datadir="$inside/data" --innodb-redo-log-capacity=100M \
        >"$outside/install.log" 2>&1 || { cat "$outside/install.log" >&2; die "mysqld --initialize failed"; }

    port=$(free_port)
    # Its own session and no open pipe of ours: whoever started us may end or wait for our output. Nothing outlives the test: no flush at commit.
    setsid chroot "$root" mysqld --no-defaults --user=mysql --datadir="$inside/data" --tmpdir="$inside" --socket="$inside/s.sock" \
        --pid-file="$inside/pid" --bind-address=127.0.0.1 --port="$port" --mysqlx=OFF --init-file="$inside/init.sql" \
        --ssl-ca="$inside/ca.pem" --ssl-cert="$inside/server-cert.pem" --ssl-key="$inside/server-key.pem" \
        --skip-name-resolve --skip-log-bin --innodb-flush-log-at-trx-commit=0 --innodb-flush-method=nosync --innodb-doublewrite=OFF \
        --innodb-buffer-pool-size=128M --innodb-redo-log-capacity=128M --performance-schema=OFF --max-connections=200 \
        >"$outside/server.log" 2>&1 </dev/null &
    pid=$!
    echo "$pid" >"$dir/pid"
    await_server "$pid" "$port" || return 1
    cat "$outside/pid" >"$dir/pid"
    echo "$home/s.sock" >"$dir/socket"
    cp "$outside/ca.pem" "$dir/ca.pem"
    publish "$port"
}

[[ -n $dir ]] || die "$usage"
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)

case $action in
start)
    stop_server
    status=0
    reason=$("$here/fetch_mysql.sh" 2>&1) || status=$?
    if ((status == 0)) && ((EUID != 0)); then
        status=77 reason="MySQL cannot be had here: entering its private root needs root"
    fi
    if ((status == 77)); then
        echo "$reason" | tail -n 1 | tee "$dir/skipped"
        exit 77
    fi
    ((status == 0)) || die "$reason"
    root=$reason
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
