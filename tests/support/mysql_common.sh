# What mariadb_fixture.sh and mysql_fixture.sh share. Sourced; the caller has set `name`, `dir` (absolute) and `here`.
#
# A fixture's folder holds, once the server answers:
#   url      mysql://millrace:millrace@127.0.0.1:PORT/test     that user may do anything
#   socket   path of the unix socket
#   ca.pem   the authority that signed the server's certificate, which is good for 127.0.0.1 and localhost
#   log      path of the server's own output
# and for as long as it runs `pid` and `home`, the server's folder under /tmp (or a link to it), removed when it stops.

user=millrace password=millrace
start_seconds=90
stop_seconds=30

die() {
    echo "$name: $*" >&2
    exit 1
}

# The server's pid if it is alive. A pid may have been given to somebody else since: the command line must name our folder.
server_pid() {
    local pid mark
    pid=$(cat "$dir/pid" 2>/dev/null) || return 1
    mark=$(cat "$dir/mark" 2>/dev/null) || return 1
    tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" | grep -qF "$mark" || return 1
    echo "$pid"
}

stop_server() {
    local pid deadline home
    if pid=$(server_pid); then
        kill -TERM "$pid" 2>/dev/null || true
        deadline=$((SECONDS + stop_seconds))
        while server_pid >/dev/null; do
            if ((SECONDS > deadline)); then
                kill -KILL "$pid" 2>/dev/null || true
            fi
            sleep 0.1
        done
    fi
    home=$(cat "$dir/home" 2>/dev/null || true)
    if [[ $home == /tmp/millrace-my.* ]]; then
        if [[ -L $home ]]; then
            rm -rf "$(readlink "$home")"
        fi
        rm -rf "$home"
    fi
    rm -f "$dir"/{pid,mark,home,url,socket,ca.pem,log,skipped}
}

# A port nobody listens on, below the range from which the kernel takes ports for outgoing connections.
free_port() {
    local port
    while :; do
        port=$((20000 + RANDOM % 12000))
        if ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
            echo "$port"
            return
        fi
    done
}

# Our own authority and a certificate for the server. What MySQL makes for itself names no host, so that nobody could check it.
make_certificates() {
    local into=$1
    (
        cd "$into"
        openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=millrace-tests -keyout ca-key.pem -out ca.pem
        openssl req -newkey rsa:2048 -nodes -subj /CN=localhost -keyout server-key.pem -out server.csr
        printf 'subjectAltName=DNS:localhost,IP:127.0.0.1\n' >server.ext
        openssl x509 -req -in server.csr -CA ca.pem -CAkey ca-key.pem -CAcreateserial -days 30 -extfile server.ext -out server-cert.pem
        rm ca-key.pem
    ) >"$into/openssl.log" 2>&1 || { cat "$into/openssl.log" >&2; die "cannot make certificates"; }
}

# Statements for --init-file, which the server runs before it lets anybody in.
write_init() {
    cat >"$1" <<SQL
CREATE DATABASE IF NOT EXISTS test CHARACTER SET utf8mb4;
CREATE USER IF NOT EXISTS '$user'@'%' IDENTIFIED BY '$password';
GRANT ALL ON *.* TO '$user'@'%' WITH GRANT OPTION;
SQL
}

# Wait until the server answers; false if it has ended or takes too long.
await_server() {
    local pid=$1 port=$2 deadline=$((SECONDS + start_seconds))
    while kill -0 "$pid" 2>/dev/null && ((SECONDS < deadline)); do
        if answers "$port"; then
            return 0
        fi
        sleep 0.2
    done
    kill -KILL "$pid" 2>/dev/null || true
    return 1
}

publish() {
    local port=$1
    echo "mysql://$user:$password@127.0.0.1:$port/test" >"$dir/url.part"
    mv "$dir/url.part" "$dir/url"
}
