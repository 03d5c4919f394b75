#!/bin/bash
# One Kafka broker (KRaft, broker and controller in one process) for the tests.
#
#   kafka_fixture.sh start DIR   start it on free loopback ports; its address stands in DIR/bootstrap when it answers
#   kafka_fixture.sh stop DIR    SIGTERM by its process id, wait until it is gone
#
# `start` begins with an empty log every time and ends a broker that an interrupted run left behind in the same DIR. The broker
# creates topics on first produce (one partition); tests that need more use kafka_topic. Its own output is in DIR/broker.log.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
action=${1:-} dir=${2:-}
start_seconds=60
stop_seconds=30

die() {
    echo "kafka_fixture.sh: $*" >&2
    exit 1
}

# The broker's pid if it is alive. A pid may have been given to somebody else since: the command line must name our folder.
broker_pid() {
    local pid
    pid=$(cat "$dir/pid" 2>/dev/null) || return 1
    tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -qF "$dir/server.properties" || return 1
    echo "$pid"
}

stop_broker() {
    local pid deadline
    if pid=$(broker_pid); then
        kill -TERM "$pid" 2>/dev/null || true
        deadline=$((SECONDS + stop_seconds))
        while broker_pid >/dev/null; do
            if ((SECONDS > deadline)); then
                kill -KILL "$pid" 2>/dev/null || true
            fi
            sleep 0.1
        done
    fi
    rm -rf "$dir/pid" "$dir/bootstrap" "$dir/data"
}

# Two ports nobody listens on, below the range from which the kernel takes ports for outgoing connections.
free_ports() {
    local port found=()
    while ((${#found[@]} < 2)); do
        port=$((20000 + RANDOM % 12000))
        if ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && [[ "${found[*]-}" != "$port" ]]; then
            found+=("$port")
        fi
    done
    echo "${found[@]}"
}

write_properties() {
    local broker=$1 controller=$2
    cat >"$dir/server.properties" <<PROPERTIES
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$controller
listeners=PLAINTEXT://127.0.0.1:$broker,CONTROLLER://127.0.0.1:$controller
advertised.listeners=PLAINTEXT://127.0.0.1:$broker
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
log.dirs=$dir/data
num.partitions=1
auto.create.topics.enable=true
default.replication.factor=1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
message.max.bytes=67108864
num.network.threads=2
num.io.threads=2
log.cleaner.dedupe.buffer.size=4194304
PROPERTIES
}

# A cluster id is 16 random bytes in base64 for URLs; a leading dash would be taken for an option.
cluster_id() {
    echo "A$(head -c 16 /dev/urandom | base64 | tr '+/' '-_' | cut -c 1-20)A"
}

start_once() {
    local libs=$1 ports pid deadline
    read -r -a ports <<<"$(free_ports)"
    rm -rf "$dir/data"
    write_properties "${ports[0]}" "${ports[1]}"
    java -cp "$libs/*" kafka.tools.StorageTool format -t "$(cluster_id)" -c "$dir/server.properties" \
        >"$dir/broker.log" 2>&1 || { cat "$dir/broker.log" >&2; die "cannot format the log folder"; }

    # Its own session and no open pipe of ours: whoever started us may end or wait for our output.
    setsid java -Xmx384m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dorg.slf4j.simpleLogger.defaultLogLevel=warn \
        -cp "$libs/*" kafka.Kafka "$dir/server.properties" >>"$dir/broker.log" 2>&1 </dev/null &
    pid=$!
    echo "$pid" >"$dir/pid"

    deadline=$((SECONDS + start_seconds))
    while kill -0 "$pid" 2>/dev/null && ((SECONDS < deadline)); do
        if kcat -L -m 1 -b "127.0.0.1:${ports[0]}" >/dev/null 2>&1; then
            echo "127.0.0.1:${ports[0]}" >"$dir/bootstrap.part"
            mv "$dir/bootstrap.part" "$dir/bootstrap"
            return 0
        fi
        sleep 0.2
    done
    kill -KILL "$pid" 2>/dev/null || true
    return 1
}

[[ -n $dir ]] || die "usage: kafka_fixture.sh start|stop DIR"
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)

case $action in
start)
    command -v java >/dev/null || die "java is not installed"
    command -v kcat >/dev/null || die "kcat is not installed"
    stop_broker
    libs=$("$here/fetch.sh")
    # Another process may have taken a port between our look and the broker's bind: a few attempts.
    for attempt in 1 2 3; do
        if start_once "$libs"; then
            cat "$dir/bootstrap"
            exit 0
        fi
        echo "kafka_fixture.sh: attempt $attempt failed" >&2
    done
    tail -n 30 "$dir/broker.log" >&2
    die "the broker does not answer"
    ;;
stop)
    stop_broker
    ;;
*)
    die "usage: kafka_fixture.sh start|stop DIR"
    ;;
esac
