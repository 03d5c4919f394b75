-- The control tables of Millrace: what it must remember to load exactly once, and what it tells about its work.
-- Everything here may be read by anybody, and nothing needs to be edited by hand. Instants are ISO texts in UTC.

-- One row: facts about the control tables themselves.
CREATE TABLE IF NOT EXISTS {meta} (
    id             INTEGER PRIMARY KEY CHECK (id = 1),
    layout_version INTEGER NOT NULL, -- layout of these tables
    schema_epoch   INTEGER NOT NULL, -- grows with every change of a target table
    created_at     TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000Z'),
    updated_at     TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000Z')
);

-- How far each partition (or file) has been loaded. Moved in the same transaction as the rows: this is the exactly-once guarantee.
CREATE TABLE IF NOT EXISTS {position} (
    pipeline    TEXT    NOT NULL, -- name of the pipeline
    topic       TEXT    NOT NULL, -- Kafka topic, or identity of a file
    "partition" INTEGER NOT NULL,
    lane        INTEGER NOT NULL, -- share of the keys that one applier owns, from 0
    lanes       INTEGER NOT NULL, -- how many lanes the partition is loaded by
    position    INTEGER NOT NULL, -- next offset (files: lines done), -1 = nothing yet
    epoch       INTEGER NOT NULL, -- grows with every owner: a former owner finds itself fenced
    updated_at  TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000Z'),
    PRIMARY KEY (pipeline, topic, "partition", lane)
) WITHOUT ROWID;

-- What is known of a topic: the format found out.
CREATE TABLE IF NOT EXISTS {topic_fact} (
    pipeline       TEXT    NOT NULL,
    topic          TEXT    NOT NULL,
    format         TEXT    NOT NULL, -- empty = not yet found out
    envelopes_seen INTEGER NOT NULL, -- change envelopes came, a tombstone is then redundant
    updated_at     TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000Z'),
    PRIMARY KEY (pipeline, topic)
) WITHOUT ROWID;

-- The tables that Millrace loads, and where their rows come from.
CREATE TABLE IF NOT EXISTS {tracked_table} (
    target_schema   TEXT    NOT NULL,
    target_table    TEXT    NOT NULL,
    source_database TEXT    NOT NULL, -- empty = unknown
    source_table    TEXT    NOT NULL, -- empty = unknown
    topic           TEXT    NOT NULL, -- where the names came from if the event did not tell
    key_paths       TEXT    NOT NULL, -- JSON list: source paths of the primary key, in order
    created_by_us   INTEGER NOT NULL, -- Millrace made the table
    expanded_name   TEXT    NOT NULL, -- schema.table as the name templates gave it, before any substitute
    updated_at      TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000Z'),
    PRIMARY KEY (target_schema, target_table)
) WITHOUT ROWID;

-- The columns of those tables: type, evidence for it, and the events that forced it.
-- Statistics are approximate, they are written apart from the data.
CREATE TABLE IF NOT EXISTS {tracked_column} (
    target_schema         TEXT    NOT NULL,
    target_table          TEXT    NOT NULL,
    column_name           TEXT    NOT NULL, -- in the target
    column_index          INTEGER NOT NULL, -- order in which the columns were learned
    path                  TEXT    NOT NULL, -- where in the event, empty = added by Millrace
    type                  TEXT,             -- empty = only nulls so far
    type_origin           TEXT    NOT NULL, -- observed, typed or schema
    declared_not_null     INTEGER NOT NULL, -- information only
    policy                TEXT    NOT NULL, -- what happens to a value that does not fit
    is_key                INTEGER NOT NULL,
    is_configured         INTEGER NOT NULL, -- type set in the configuration
    is_by_hand            INTEGER NOT NULL, -- type changed by hand in the target, never altered by Millrace
    is_name_substituted   INTEGER NOT NULL, -- the plain name was taken, too long or not allowed
    value_counts          TEXT    NOT NULL, -- JSON: values seen, by the type each showed
    conflict_count        TEXT    NOT NULL, -- values that did not fit
    int_digits            INTEGER NOT NULL, -- widest integer part of a number
    frac_digits           INTEGER NOT NULL, -- widest fraction of a number
    max_abs               TEXT    NOT NULL, -- largest whole number without its sign
    max_length            INTEGER NOT NULL, -- longest text or bytes, in bytes
    has_special           INTEGER NOT NULL, -- NaN or an infinity was there
    has_fraction          INTEGER NOT NULL, -- a number that is not whole was there
    has_negative_time     INTEGER NOT NULL, -- a time outside 0 to 24 hours was there
    first_topic           TEXT    NOT NULL, -- the first event with a value of this column
    first_partition       INTEGER NOT NULL,
    first_offset          INTEGER NOT NULL,
    first_time_us         INTEGER,          -- microseconds since 1970, null = unknown
    widened_topic         TEXT    NOT NULL, -- the last event that widened the type, empty = never widened
    widened_partition     INTEGER NOT NULL,
    widened_offset        INTEGER NOT NULL,
    widened_time_us       INTEGER,
    widened_from          TEXT,             -- the type before
    widened_from_origin   TEXT    NOT NULL,
    widened_from_not_null INTEGER NOT NULL,
    updated_at            TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000Z'),
    PRIMARY KEY (target_schema, target_table, column_name)
) WITHOUT ROWID;

-- What happened to the type of a field.
CREATE TABLE IF NOT EXISTS {type_history} (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    recorded_at   TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000Z'),
    target_schema TEXT    NOT NULL,
    target_table  TEXT    NOT NULL,
    column_name   TEXT    NOT NULL,
    path          TEXT    NOT NULL,
    event         TEXT    NOT NULL, -- created, widened, nulled, by_hand or variant
    from_type     TEXT    NOT NULL,
    to_type       TEXT    NOT NULL,
    message       TEXT    NOT NULL,
    topic         TEXT    NOT NULL, -- the event that caused it
    "partition"   INTEGER NOT NULL,
    record_offset INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS {type_history_table} ON {type_history} (target_schema, target_table, id);

-- The DDL that Millrace ran.
CREATE TABLE IF NOT EXISTS {ddl_history} (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    recorded_at   TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000Z'),
    target_schema TEXT    NOT NULL,
    target_table  TEXT    NOT NULL,
    statement     TEXT    NOT NULL,
    reason        TEXT    NOT NULL,
    is_rewrite    INTEGER NOT NULL, -- the whole table was rewritten
    topic         TEXT    NOT NULL, -- the event that caused it
    "partition"   INTEGER NOT NULL,
    record_offset INTEGER NOT NULL
);

-- What schema topics told of the columns of source tables: rows without a schema are decoded by it.
CREATE TABLE IF NOT EXISTS {source_type} (
    pipeline        TEXT    NOT NULL,
    topic           TEXT    NOT NULL, -- the message that told it
    "partition"     INTEGER NOT NULL,
    record_offset   INTEGER NOT NULL,
    part            INTEGER NOT NULL, -- which of the changes in that message, from 0
    source_database TEXT    NOT NULL,
    source_table    TEXT    NOT NULL,
    told            TEXT    NOT NULL, -- JSON: the place in the log of the source, and the table as it is from there on
    recorded_at     TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000Z'),
    PRIMARY KEY (pipeline, topic, "partition", record_offset, part)
) WITHOUT ROWID;

-- What of a schema change at the source has been done in the target (ddl: apply): nothing of it is done twice.
CREATE TABLE IF NOT EXISTS {source_ddl} (
    pipeline    TEXT    NOT NULL,
    topic       TEXT    NOT NULL, -- Kafka topic, or identity of a file
    "partition" INTEGER NOT NULL,
    position    INTEGER NOT NULL, -- position after the message
    part        INTEGER NOT NULL, -- which of the things that the statement does, from 0
    recorded_at TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000Z'),
    PRIMARY KEY (pipeline, topic, "partition", position, part)
) WITHOUT ROWID;

-- Status events (Prostore's). Numbers are given in the transaction of the rows; the row's lock puts them into the order of the commits.
CREATE TABLE IF NOT EXISTS {status_datamart} (
    datamart   TEXT    PRIMARY KEY,
    next_delta INTEGER NOT NULL, -- number of the next delta
    next_cn    INTEGER NOT NULL, -- number of the next write operation
    updated_at TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000Z')
);

-- Events that are committed with what they tell of, and not yet in the topic.
CREATE TABLE IF NOT EXISTS {status_outbox} (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    recorded_at TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000Z'),
    topic       TEXT    NOT NULL,
    event_id    TEXT    NOT NULL, -- eventLogId, the same however often it is sent
    event_key   TEXT    NOT NULL,
    event_value TEXT    NOT NULL
);

-- Which instance sends, one for each topic.
CREATE TABLE IF NOT EXISTS {status_sender} (
    topic       TEXT    PRIMARY KEY,
    owner       TEXT    NOT NULL,
    lease_until TEXT    NOT NULL, -- after it another one may begin to send
    sent_from   INTEGER NOT NULL  -- what waits is not in the topic before this offset, -1 = nothing has been sent
);

-- Tables that are about to change where DDL commits by itself: whether it did is seen from the shape.
CREATE TABLE IF NOT EXISTS {status_planned} (
    target_schema TEXT    NOT NULL,
    target_table  TEXT    NOT NULL,
    shape         TEXT    NOT NULL, -- hash of the columns before
    recorded_at   TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000Z'),
    PRIMARY KEY (target_schema, target_table)
);

-- Messages that could not be loaded, with their exact bytes and the reason.
CREATE TABLE IF NOT EXISTS {dead_letter} (
    id                  INTEGER PRIMARY KEY AUTOINCREMENT,
    recorded_at         TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000Z'),
    state               TEXT    NOT NULL DEFAULT 'open', -- open or replayed
    state_changed_at    TEXT,
    pipeline            TEXT    NOT NULL,
    position_topic      TEXT    NOT NULL, -- the partition or file it was read from
    position            INTEGER NOT NULL, -- position after the message
    topic               TEXT    NOT NULL, -- the own place of the message
    "partition"         INTEGER NOT NULL,
    record_offset       INTEGER NOT NULL,
    record_timestamp_ms INTEGER NOT NULL, -- milliseconds since 1970, -1 = unknown
    record_key          BLOB,             -- null = the message had none
    record_value        BLOB,
    is_bare             INTEGER NOT NULL, -- a bare event of a file
    headers             TEXT    NOT NULL, -- JSON list of name and base64 value
    code                TEXT    NOT NULL, -- stable word for the reason
    native_code         TEXT    NOT NULL, -- code of the database, if it was the one to refuse
    message             TEXT    NOT NULL,
    field               TEXT    NOT NULL, -- source path, empty = the whole message
    target_schema       TEXT    NOT NULL,
    target_table        TEXT    NOT NULL,
    failed_rows         TEXT    NOT NULL  -- JSON list of the keys that failed, empty = the whole message
);
CREATE INDEX IF NOT EXISTS {dead_letter_open} ON {dead_letter} (pipeline, id) WHERE state = 'open';

INSERT INTO {meta} (id, layout_version, schema_epoch) VALUES (1, 3, 0)
ON CONFLICT (id) DO UPDATE SET layout_version = excluded.layout_version WHERE layout_version < excluded.layout_version;

SELECT layout_version FROM {meta}
