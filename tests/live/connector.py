"""The real Debezium connector for MariaDB in a Kafka Connect worker of its own process."""
import os
import re
import signal
import subprocess
import time
from urllib.parse import urlsplit

HERE = os.path.dirname(os.path.abspath(__file__))
FETCH = os.path.join(HERE, "..", "support", "debezium", "fetch.sh")


class Connector:
    """Streams one database into topics PREFIX.DATABASE.TABLE. `single` names tables whose topics get one partition: where order between
    rows matters (truncates, rows without a key), Kafka can promise it no other way."""

    def __init__(self, work, broker, source_url, prefix, database, single, partitions=4):
        self.work = work
        self.log_path = os.path.join(work, "connect.log")
        url = urlsplit(source_url)
        worker = {
            "bootstrap.servers": broker,
            "key.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "offset.storage.file.filename": os.path.join(work, "offsets"),
            "offset.flush.interval.ms": 2000,
            "listeners": "http://127.0.0.1:0",
            "plugin.discovery": "service_load",
        }
        connector = {
            "name": prefix,
            "connector.class": "io.debezium.connector.mariadb.MariaDbConnector",
            "tasks.max": 1,
            "database.hostname": url.hostname,
            "database.port": url.port,
            "database.user": url.username,
            "database.password": url.password,
            "database.server.id": 100000 + os.getpid(),
            "database.ssl.mode": "disable",
            "database.include.list": database,
            "topic.prefix": prefix,
            "schema.history.internal": "io.debezium.storage.file.history.FileSchemaHistory",
            "schema.history.internal.file.filename": os.path.join(work, "schema-history"),
            "topic.creation.default.partitions": partitions,
            "topic.creation.default.replication.factor": 1,
            "topic.creation.groups": "single",
            "topic.creation.single.include": "|".join(re.escape(f"{prefix}.{database}.{t}").replace("\\", "\\\\") for t in single),
            "topic.creation.single.partitions": 1,
            "topic.creation.single.replication.factor": 1,
            "provide.transaction.metadata": "true",
            "heartbeat.interval.ms": 2000,
            "skipped.operations": "none",
            "bigint.unsigned.handling.mode": "precise",
            "poll.interval.ms": 100,
        }
        self.files = []
        for name, settings in (("worker", worker), ("connector", connector)):
            path = os.path.join(work, name + ".properties")
            with open(path, "w", encoding="utf-8") as f:
                f.writelines(f"{k}={v}\n" for k, v in settings.items())
            self.files.append(path)
        self.process = None

    def start(self):
        libs = subprocess.run([FETCH], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        command = ["java", "-Xmx400m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                   "-Dorg.slf4j.simpleLogger.log.io.debezium=info", "-Dorg.slf4j.simpleLogger.showDateTime=true",
                   "-cp", libs + "/*", "org.apache.kafka.connect.cli.ConnectStandalone", *self.files]
        with open(self.log_path, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as f:
            return f.read()

    def is_streaming(self):
        """The snapshot is done, the binary log is being read."""
        return "Keepalive thread is running" in self.log() or "Connected to binlog at" in self.log()

    def failure(self):
        """Why it does not work any more, or None."""
        if self.process.poll() is not None:
            return f"Kafka Connect has ended with {self.process.returncode}\n{self.log()[-4000:]}"
        text = self.log()
        error = re.search(r".*ERROR.*(Task is being killed|Failed to create connector|Producer failure|will not recover)", text)
        return f"the connector has failed\n{text[max(0, error.start() - 2000):error.end() + 4000]}" if error else None

    def stop(self):
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + 20
        while self.process.poll() is None:
            if time.monotonic() > deadline:
                self.process.kill()
            time.sleep(0.1)
