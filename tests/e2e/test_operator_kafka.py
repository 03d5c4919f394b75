#!/usr/bin/env python3
"""The commands of an operator against a broker: what check finds, how far behind status says we are, what plan reads without moving anything."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from e2e import Broker, Sqlite, check, main, millrace  # noqa: E402


def message(id, v):
    return json.dumps({"id": id}), json.dumps({"id": id, "v": v})


def fresh_topic(name, broker, partitions=2):
    topic = f"{name}{os.getpid()}.shop.t"
    broker.create(topic, partitions)
    return topic


def with_target(test):
    target = Sqlite()
    try:
        test(target, Broker())
    finally:
        target.close()


def test_check_knows_topics_and_names_the_nearest():
    def run(target, broker):
        topic = fresh_topic("check", broker)
        done = millrace("check", *broker.source(topic), *target.args(), check=False)
        check(done.returncode == 0 and f"{topic}: 2 partitions" in done.stdout, done.stdout)
        done = millrace("check", *broker.source(topic + "x", "^" + topic[:5]), *target.args(), check=False)
        check(done.returncode == 3, f"exit code {done.returncode}\n{done.stdout}")
        check(f'there is no topic "{topic}x"' in done.stdout and topic in done.stdout.split("hint:")[1], done.stdout)
        check(f"ok      topic           ^{topic[:5]}" in done.stdout, done.stdout)
        check(not os.path.exists(target.path), "check has made the database")
    with_target(run)


def test_status_tells_how_far_behind_and_plan_moves_nothing():
    def run(target, broker):
        topic = fresh_topic("status", broker)
        source = [*broker.source(topic), "--format", "json"]
        broker.produce(topic, 0, [message(i, i) for i in range(5)])
        broker.produce(topic, 1, [message(i, i) for i in range(10, 13)])
        millrace("backfill", *source, *target.args())
        broker.produce(topic, 0, [message(20, 1.5), message(21, 2)])
        plan = json.loads(millrace("plan", *source, *target.args(), "--json").stdout)
        check((plan["records"], plan["statements"]) == (2, 1), plan)
        kafka = ["--set", f"source.kafka.brokers={broker.bootstrap}", "--set", f"source.kafka.topics={topic}"]
        status = json.loads(millrace("status", *kafka, *target.args(), "--json").stdout)
        have = [(p["partition"], p["position"], p["end"], p["behind"]) for p in status["positions"]]
        check(have == [(0, 5, 7, 2), (1, 3, 3, 0)], have)
        text = millrace("status", *kafka, *target.args()).stdout
        check("behind" in text, text)
        millrace("backfill", *source, *target.args())
        status = json.loads(millrace("status", *kafka, *target.args(), "--json").stdout)
        check([p["behind"] for p in status["positions"]] == [0, 0], status["positions"])
    with_target(run)


def test_status_without_a_broker_says_so_and_succeeds():
    def run(target, broker):
        topic = fresh_topic("lost", broker)
        broker.produce(topic, 0, [message(1, 1)])
        millrace("backfill", *broker.source(topic), "--format", "json", *target.args())
        done = millrace("status", "--set", "source.kafka.brokers=127.0.0.1:1", "--set", f"source.kafka.topics={topic}", *target.args(),
                        timeout=20)
        check("how far behind is not known" in done.stdout and topic in done.stdout, done.stdout)
        done = millrace("plan", "--from", f"kafka://127.0.0.1:1/{topic}", *target.args(), check=False, timeout=60)
        check(done.returncode == 4, f"exit code {done.returncode}\n{done.stderr}")
    with_target(run)


def test_dead_letters_from_kafka_are_replayed():
    def run(target, broker):
        topic = fresh_topic("dead", broker)
        broker.produce(topic, 1, [message(1, 1), message(2, "two")])
        args = ["--set", "format=json", *target.args()]
        millrace("backfill", *broker.source(topic), *args)
        done = millrace("dead-letters", "replay", "--all", *args, "--set", 'types.policies={"shop.t.v": text}')
        check(f"{topic}[1]@1" in done.stdout and "1 replayed" in done.stdout, done.stdout)
        check(sorted(str(r["v"].value) for r in target.rows("t")) == ["1", "two"], target.rows("t"))
    with_target(run)


if __name__ == "__main__":
    main()
