-- The control tables of Millrace: what it must remember to load exactly once, and what it tells about its work.
-- Everything here may be read by anybody, and nothing needs to be edited by hand. Instants are in UTC.
-- Long names (the path of a file) do not fit an index: their SHA-256 stands for them there.
CREATE TABLE IF NOT EXISTS {meta} (
    id             TINYINT NOT NULL,
    layout_version INT NOT NULL COMMENT 'layout of these tables',
    schema_epoch   BIGINT NOT NULL COMMENT 'grows with every change of a target table',
    created_at     DATETIME(6) NOT NULL,
    updated_at     DATETIME(6) NOT NULL,
    PRIMARY KEY (id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE {collation} COMMENT 'One row: facts about the control tables themselves.';

CREATE TABLE IF NOT EXISTS {position} (
    place_key   BINARY(32) NOT NULL COMMENT 'SHA-256 of length of pipeline, pipeline, topic',
    pipeline    LONGTEXT NOT NULL COMMENT 'name of the pipeline',
    topic       LONGTEXT NOT NULL COMMENT 'Kafka topic, or identity of a file',
    `partition` INT NOT NULL,
    lane        INT NOT NULL COMMENT 'share of the keys that one applier owns, from 0',
    lanes       INT NOT NULL COMMENT 'how many lanes the partition is loaded by',
    position    BIGINT NOT NULL COMMENT 'next offset (files: lines done), -1 = nothing yet',
    epoch       BIGINT NOT NULL COMMENT 'grows with every owner: a former owner finds itself fenced',
    updated_at  DATETIME(6) NOT NULL,
    PRIMARY KEY (place_key, `partition`, lane)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE {collation}
  COMMENT 'How far each partition (or file) has been loaded. Moved in the same transaction as the rows: this is the exactly-once guarantee.';

CREATE TABLE IF NOT EXISTS {topic_fact} (
    place_key      BINARY(32) NOT NULL COMMENT 'SHA-256 of length of pipeline, pipeline, topic',
    pipeline       LONGTEXT NOT NULL,
    topic          LONGTEXT NOT NULL,
    format         VARCHAR(64) NOT NULL COMMENT 'empty = not yet found out',
    envelopes_seen TINYINT(1) NOT NULL COMMENT 'change envelopes came, a tombstone is then redundant',
    updated_at     DATETIME(6) NOT NULL,
    PRIMARY KEY (place_key)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE {collation} COMMENT 'What is known of a topic: the format found out.';

CREATE TABLE IF NOT EXISTS {tracked_table} (
    target_schema   VARCHAR(255) NOT NULL,
    target_table    VARCHAR(255) NOT NULL,
    source_database LONGTEXT NOT NULL COMMENT 'empty = unknown',
    source_table    LONGTEXT NOT NULL COMMENT 'empty = unknown',
    topic           LONGTEXT NOT NULL COMMENT 'where the names came from if the event did not tell',
    key_paths       LONGTEXT NOT NULL COMMENT 'JSON list: source paths of the primary key, in order',
    created_by_us   TINYINT(1) NOT NULL COMMENT 'Millrace made the table',
    expanded_name   LONGTEXT NOT NULL COMMENT 'schema.table as the name templates gave it, before any substitute',
    updated_at      DATETIME(6) NOT NULL,
    PRIMARY KEY (target_schema, target_table)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE {collation}
  COMMENT 'The tables that Millrace loads, and where their rows come from.';

CREATE TABLE IF NOT EXISTS {tracked_column} (
    target_schema         VARCHAR(255) NOT NULL,
    target_table          VARCHAR(255) NOT NULL,
    column_name           VARCHAR(255) NOT NULL COMMENT 'in the target',
    column_index          INT NOT NULL COMMENT 'order in which the columns were learned',
    path                  LONGTEXT NOT NULL COMMENT 'where in the event, empty = added by Millrace',
    type                  VARCHAR(64) COMMENT 'null = only nulls so far',
    type_origin           VARCHAR(32) NOT NULL COMMENT 'observed, typed or schema',
    declared_not_null     TINYINT(1) NOT NULL COMMENT 'information only',
    policy                VARCHAR(32) NOT NULL COMMENT 'what happens to a value that does not fit',
    is_key                TINYINT(1) NOT NULL,
    is_configured         TINYINT(1) NOT NULL COMMENT 'type set in the configuration',
    is_by_hand            TINYINT(1) NOT NULL COMMENT 'type changed by hand in the target, never altered by Millrace',
    is_name_substituted   TINYINT(1) NOT NULL COMMENT 'the plain name was taken, too long or not allowed',
    value_counts          LONGTEXT NOT NULL COMMENT 'JSON: values seen, by the type each showed',
    conflict_count        DECIMAL(20,0) NOT NULL COMMENT 'values that did not fit',
    int_digits            BIGINT NOT NULL COMMENT 'widest integer part of a number',
    frac_digits           BIGINT NOT NULL COMMENT 'widest fraction of a number',
    max_abs               DECIMAL(20,0) NOT NULL COMMENT 'largest whole number without its sign',
    max_length            BIGINT NOT NULL COMMENT 'longest text or bytes, in bytes',
    has_special           TINYINT(1) NOT NULL COMMENT 'NaN or an infinity was there',
    has_fraction          TINYINT(1) NOT NULL COMMENT 'a number that is not whole was there',
    has_negative_time     TINYINT(1) NOT NULL COMMENT 'a time outside 0 to 24 hours was there',
    first_topic           LONGTEXT NOT NULL COMMENT 'the first event with a value of this column',
    first_partition       INT NOT NULL,
    first_offset          BIGINT NOT NULL,
    first_time_us         BIGINT COMMENT 'microseconds since 1970, null = unknown',
    widened_topic         LONGTEXT NOT NULL COMMENT 'the last event that widened the type, empty = never widened',
    widened_partition     INT NOT NULL,
    widened_offset        BIGINT NOT NULL,
    widened_time_us       BIGINT,
    widened_from          VARCHAR(64) COMMENT 'the type before',
    widened_from_origin   VARCHAR(32) NOT NULL,
    widened_from_not_null TINYINT(1) NOT NULL,
    updated_at            DATETIME(6) NOT NULL,
    PRIMARY KEY (target_schema, target_table, column_name)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE {collation}
  COMMENT 'The columns of those tables: type, evidence for it, and the events that forced it. Statistics are approximate. Those of millrace_planned:TABLE are as DDL was to make them, written before it ran.';

CREATE TABLE IF NOT EXISTS {type_history} (
    id            BIGINT NOT NULL AUTO_INCREMENT,
    recorded_at   DATETIME(6) NOT NULL,
    target_schema VARCHAR(255) NOT NULL,
    target_table  VARCHAR(255) NOT NULL,
    column_name   VARCHAR(255) NOT NULL,
    path          LONGTEXT NOT NULL,
    event         VARCHAR(32) NOT NULL COMMENT 'created, widened, nulled, by_hand or variant',
    from_type     LONGTEXT NOT NULL,
    to_type       LONGTEXT NOT NULL,
    message       LONGTEXT NOT NULL,
    topic         LONGTEXT NOT NULL COMMENT 'the event that caused it',
    `partition`   INT NOT NULL,
    record_offset BIGINT NOT NULL,
    PRIMARY KEY (id),
    KEY by_table (target_schema, target_table, id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE {collation} COMMENT 'What happened to the type of a field.';

CREATE TABLE IF NOT EXISTS {ddl_history} (
    id            BIGINT NOT NULL AUTO_INCREMENT,
    recorded_at   DATETIME(6) NOT NULL,
    target_schema VARCHAR(255) NOT NULL,
    target_table  VARCHAR(255) NOT NULL,
    statement     LONGTEXT NOT NULL,
    reason        LONGTEXT NOT NULL,
    is_rewrite    TINYINT(1) NOT NULL COMMENT 'the whole table was rewritten',
    topic         LONGTEXT NOT NULL COMMENT 'the event that caused it',
    `partition`   INT NOT NULL,
    record_offset BIGINT NOT NULL,
    PRIMARY KEY (id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE {collation} COMMENT 'The DDL that Millrace ran.';

CREATE TABLE IF NOT EXISTS {source_type} (
    place_key       BINARY(32) NOT NULL COMMENT 'SHA-256 of length of pipeline, pipeline, topic',
    pipeline        LONGTEXT NOT NULL,
    topic           LONGTEXT NOT NULL COMMENT 'the message that told it',
    `partition`     INT NOT NULL,
    record_offset   BIGINT NOT NULL,
    part            INT NOT NULL COMMENT 'which of the changes in that message, from 0',
    source_database LONGTEXT NOT NULL,
    source_table    LONGTEXT NOT NULL,
    told            LONGTEXT NOT NULL COMMENT 'JSON: the place in the log of the source, and the table as it is from there on',
    recorded_at     DATETIME(6) NOT NULL,
    PRIMARY KEY (place_key, `partition`, record_offset, part)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE {collation}
  COMMENT 'What schema topics told of the columns of source tables: rows without a schema are decoded by it.';

CREATE TABLE IF NOT EXISTS {source_ddl} (
    place_key   BINARY(32) NOT NULL COMMENT 'SHA-256 of length of pipeline, pipeline, topic',
    pipeline    LONGTEXT NOT NULL,
    topic       LONGTEXT NOT NULL COMMENT 'Kafka topic, or identity of a file',
    `partition` INT NOT NULL,
    position    BIGINT NOT NULL COMMENT 'position after the message',
    part        INT NOT NULL COMMENT 'which of the things that the statement does, from 0',
    recorded_at DATETIME(6) NOT NULL,
    PRIMARY KEY (place_key, `partition`, position, part)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE {collation}
  COMMENT 'What of a schema change at the source has been done in the target: nothing of it is done twice.';

CREATE TABLE IF NOT EXISTS {status_datamart} (
    datamart   VARCHAR(255) NOT NULL,
    next_delta BIGINT NOT NULL COMMENT 'number of the next delta',
    next_cn    BIGINT NOT NULL COMMENT 'number of the next write operation',
    updated_at DATETIME(6) NOT NULL,
    PRIMARY KEY (datamart)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE {collation}
  COMMENT 'Numbers of deltas and write operations told in the status topic, given in the transaction of the rows.';

CREATE TABLE IF NOT EXISTS {status_outbox} (
    id          BIGINT NOT NULL AUTO_INCREMENT,
    recorded_at DATETIME(6) NOT NULL,
    topic       VARCHAR(255) NOT NULL,
    event_id    VARCHAR(36) NOT NULL COMMENT 'eventLogId, the same however often it is sent',
    event_key   LONGTEXT NOT NULL,
    event_value LONGTEXT NOT NULL,
    PRIMARY KEY (id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE {collation}
  COMMENT 'Status events that are committed with what they tell of, and not yet in the topic.';

CREATE TABLE IF NOT EXISTS {status_sender} (
    topic       VARCHAR(255) NOT NULL,
    owner       VARCHAR(64) NOT NULL,
    lease_until DATETIME(6) NOT NULL COMMENT 'after it another instance may begin to send',
    sent_from   BIGINT NOT NULL COMMENT 'what waits is not in the topic before this offset, -1 = nothing has been sent',
    PRIMARY KEY (topic)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE {collation} COMMENT 'Which instance sends status events, one for each topic.';

CREATE TABLE IF NOT EXISTS {status_planned} (
    target_schema VARCHAR(255) NOT NULL,
    target_table  VARCHAR(255) NOT NULL,
    shape         VARCHAR(64) NOT NULL COMMENT 'hash of the columns before',
    recorded_at   DATETIME(6) NOT NULL,
    PRIMARY KEY (target_schema, target_table)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE {collation}
  COMMENT 'Tables that are about to change: whether they did is seen from the shape, and a status event tells of it.';

CREATE TABLE IF NOT EXISTS {dead_letter} (
    id                  BIGINT NOT NULL AUTO_INCREMENT,
    recorded_at         DATETIME(6) NOT NULL,
    state               VARCHAR(16) NOT NULL COMMENT 'open or replayed',
    state_changed_at    DATETIME(6),
    pipeline            LONGTEXT NOT NULL,
    position_topic      LONGTEXT NOT NULL COMMENT 'the partition or file it was read from',
    position            BIGINT NOT NULL COMMENT 'position after the message',
    topic               LONGTEXT NOT NULL COMMENT 'the own place of the message',
    `partition`         INT NOT NULL,
    record_offset       BIGINT NOT NULL,
    record_timestamp_ms BIGINT NOT NULL COMMENT 'milliseconds since 1970, -1 = unknown',
    record_key          LONGBLOB COMMENT 'null = the message had none',
    record_value        LONGBLOB,
    is_bare             TINYINT(1) NOT NULL COMMENT 'a bare event of a file',
    headers             LONGTEXT NOT NULL COMMENT 'JSON list of name and base64 value',
    code                VARCHAR(64) NOT NULL COMMENT 'stable word for the reason',
    native_code         VARCHAR(64) NOT NULL COMMENT 'code of the database, if it was the one to refuse',
    message             LONGTEXT NOT NULL,
    field               LONGTEXT NOT NULL COMMENT 'source path, empty = the whole message',
    target_schema       VARCHAR(255) NOT NULL,
    target_table        VARCHAR(255) NOT NULL,
    failed_rows         LONGTEXT NOT NULL COMMENT 'JSON list of the keys that failed, empty = the whole message',
    PRIMARY KEY (id),
    KEY by_state (state, id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE {collation}
  COMMENT 'Messages that could not be loaded, with their exact bytes and the reason.';

INSERT INTO {meta} (id, layout_version, schema_epoch, created_at, updated_at)
VALUES (1, 3, 0, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6))
ON DUPLICATE KEY UPDATE layout_version = GREATEST(layout_version, VALUES(layout_version));

SELECT layout_version FROM {meta}
