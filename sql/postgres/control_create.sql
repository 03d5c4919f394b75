-- The control tables of Millrace: what it must remember to load exactly once, and what it tells about its work.
-- Everything here may be read by anybody, and nothing needs to be edited by hand.
CREATE SCHEMA IF NOT EXISTS {control};

-- One row: facts about the control tables themselves.
CREATE TABLE IF NOT EXISTS {meta} (
    id             smallint    PRIMARY KEY CHECK (id = 1),
    layout_version integer     NOT NULL, -- layout of these tables
    schema_epoch   bigint      NOT NULL, -- grows with every change of a target table, so that every instance reads the catalog again
    created_at     timestamptz NOT NULL DEFAULT now(),
    updated_at     timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE {meta} IS 'Millrace: layout version of the control tables and epoch of the target schema';

-- How far each partition (or file) has been loaded. Moved in the same transaction as the rows: this is the exactly-once guarantee.
CREATE TABLE IF NOT EXISTS {position} (
    pipeline   text        NOT NULL, -- name of the pipeline
    topic      text        NOT NULL, -- Kafka topic, or identity of a file
    partition  integer     NOT NULL,
    lane       integer     NOT NULL, -- share of the keys that one applier owns, from 0
    lanes      integer     NOT NULL, -- how many lanes the partition is loaded by
    position   bigint      NOT NULL, -- next offset (files: lines done), -1 = nothing yet
    epoch      bigint      NOT NULL, -- grows with every owner: a former owner finds itself fenced
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (pipeline, topic, partition, lane)
) WITH (fillfactor = 50);
COMMENT ON TABLE {position} IS 'Millrace: how far each partition or file has been loaded, per lane';

-- What is known of a topic: the format found out.
CREATE TABLE IF NOT EXISTS {topic_fact} (
    pipeline       text        NOT NULL,
    topic          text        NOT NULL,
    format         text        NOT NULL, -- empty = not yet found out
    envelopes_seen boolean     NOT NULL, -- change envelopes came, a tombstone is then redundant
    updated_at     timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (pipeline, topic)
);
COMMENT ON TABLE {topic_fact} IS 'Millrace: the format of each topic';

-- The tables that Millrace loads, and where their rows come from.
CREATE TABLE IF NOT EXISTS {tracked_table} (
    target_schema   text        NOT NULL,
    target_table    text        NOT NULL,
    source_database text        NOT NULL, -- empty = unknown
    source_table    text        NOT NULL, -- empty = unknown
    topic           text        NOT NULL, -- where the names came from if the event did not tell
    key_paths       json        NOT NULL, -- source paths of the primary key, in order
    created_by_us   boolean     NOT NULL, -- Millrace made the table
    expanded_name   text        NOT NULL, -- schema.table as the name templates gave it, before any substitute
    updated_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (target_schema, target_table)
);
COMMENT ON TABLE {tracked_table} IS 'Millrace: target tables and the source relations they come from';

-- The columns of those tables: type, evidence for it, and the events that forced it.
-- Statistics are approximate, they are written apart from the data.
CREATE TABLE IF NOT EXISTS {tracked_column} (
    target_schema         text        NOT NULL,
    target_table          text        NOT NULL,
    column_name           text        NOT NULL, -- in the target
    column_index          integer     NOT NULL, -- order in which the columns were learned
    path                  text        NOT NULL, -- where in the event, empty = added by Millrace
    type                  text,                 -- empty = only nulls so far
    type_origin           text        NOT NULL, -- observed, typed or schema
    declared_not_null     boolean     NOT NULL, -- information only
    policy                text        NOT NULL, -- what happens to a value that does not fit
    is_key                boolean     NOT NULL,
    is_configured         boolean     NOT NULL, -- type set in the configuration
    is_by_hand            boolean     NOT NULL, -- type changed by hand in the target, never altered by Millrace
    is_name_substituted   boolean     NOT NULL, -- the plain name was taken, too long or not allowed
    value_counts          json        NOT NULL, -- values seen, by the type each showed
    conflict_count        numeric(20) NOT NULL, -- values that did not fit
    int_digits            bigint      NOT NULL, -- widest integer part of a number
    frac_digits           bigint      NOT NULL, -- widest fraction of a number
    max_abs               numeric(20) NOT NULL, -- largest whole number without its sign
    max_length            bigint      NOT NULL, -- longest text or bytes, in bytes
    has_special           boolean     NOT NULL, -- NaN or an infinity was there
    has_fraction          boolean     NOT NULL, -- a number that is not whole was there
    has_negative_time     boolean     NOT NULL, -- a time outside 0 to 24 hours was there
    first_topic           text        NOT NULL, -- the first event with a value of this column
    first_partition       integer     NOT NULL,
    first_offset          bigint      NOT NULL,
    first_time_us         bigint,               -- microseconds since 1970, null = unknown
    widened_topic         text        NOT NULL, -- the last event that widened the type, empty = never widened
    widened_partition     integer     NOT NULL,
    widened_offset        bigint      NOT NULL,
    widened_time_us       bigint,
    widened_from          text,                 -- the type before
    widened_from_origin   text        NOT NULL,
    widened_from_not_null boolean     NOT NULL,
    updated_at            timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (target_schema, target_table, column_name)
);
COMMENT ON TABLE {tracked_column} IS 'Millrace: tracked columns, their types and the evidence for them';

-- What happened to the type of a field.
CREATE TABLE IF NOT EXISTS {type_history} (
    id            bigint      GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    recorded_at   timestamptz NOT NULL DEFAULT now(),
    target_schema text        NOT NULL,
    target_table  text        NOT NULL,
    column_name   text        NOT NULL,
    path          text        NOT NULL,
    event         text        NOT NULL, -- created, widened, nulled, by_hand or variant
    from_type     text        NOT NULL,
    to_type       text        NOT NULL,
    message       text        NOT NULL,
    topic         text        NOT NULL, -- the event that caused it
    partition     integer     NOT NULL,
    record_offset bigint      NOT NULL
);
COMMENT ON TABLE {type_history} IS 'Millrace: how the types of the fields came to be';
CREATE INDEX IF NOT EXISTS type_history_table ON {type_history} (target_schema, target_table, id);

-- The DDL that Millrace ran.
CREATE TABLE IF NOT EXISTS {ddl_history} (
    id            bigint      GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    recorded_at   timestamptz NOT NULL DEFAULT now(),
    target_schema text        NOT NULL,
    target_table  text        NOT NULL,
    statement     text        NOT NULL,
    reason        text        NOT NULL,
    is_rewrite    boolean     NOT NULL, -- the whole table was rewritten
    topic         text        NOT NULL, -- the event that caused it
    partition     integer     NOT NULL,
    record_offset bigint      NOT NULL
);
COMMENT ON TABLE {ddl_history} IS 'Millrace: the DDL that was run, and why';

-- What schema topics told of the columns of source tables: rows without a schema are decoded by it.
CREATE TABLE IF NOT EXISTS {source_type} (
    pipeline        text        NOT NULL,
    topic           text        NOT NULL, -- the message that told it
    partition       integer     NOT NULL,
    record_offset   bigint      NOT NULL,
    part            integer     NOT NULL, -- which of the changes in that message, from 0
    source_database text        NOT NULL,
    source_table    text        NOT NULL,
    told            text        NOT NULL, -- JSON: the place in the log of the source, and the table as it is from there on
    recorded_at     timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (pipeline, topic, partition, record_offset, part)
);
COMMENT ON TABLE {source_type} IS 'Millrace: columns of source tables over time, as schema topics told them';

-- What of a schema change at the source has been done in the target (ddl: apply): nothing of it is done twice.
CREATE TABLE IF NOT EXISTS {source_ddl} (
    pipeline    text        NOT NULL,
    topic       text        NOT NULL, -- Kafka topic, or identity of a file
    partition   integer     NOT NULL,
    position    bigint      NOT NULL, -- position after the message
    part        integer     NOT NULL, -- which of the things that the statement does, from 0
    recorded_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (pipeline, topic, partition, position, part)
);
COMMENT ON TABLE {source_ddl} IS 'Millrace: schema changes of the source that have been followed';

-- Status events (Prostore's). Numbers are given in the transaction of the rows; the row's lock puts them into the order of the commits.
CREATE TABLE IF NOT EXISTS {status_datamart} (
    datamart   text        PRIMARY KEY,
    next_delta bigint      NOT NULL, -- number of the next delta
    next_cn    bigint      NOT NULL, -- number of the next write operation
    updated_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE {status_datamart} IS 'Millrace: numbers of deltas and write operations told in the status topic';

-- Events that are committed with what they tell of, and not yet in the topic.
CREATE TABLE IF NOT EXISTS {status_outbox} (
    id          bigint      GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    recorded_at timestamptz NOT NULL DEFAULT now(),
    topic       text        NOT NULL,
    event_id    text        NOT NULL, -- eventLogId, the same however often it is sent
    event_key   text        NOT NULL,
    event_value text        NOT NULL
);
COMMENT ON TABLE {status_outbox} IS 'Millrace: status events that wait to be sent';

-- Which instance sends, one for each topic.
CREATE TABLE IF NOT EXISTS {status_sender} (
    topic       text        PRIMARY KEY,
    owner       text        NOT NULL,
    lease_until timestamptz NOT NULL, -- after it another one may begin to send
    sent_from   bigint      NOT NULL  -- what waits is not in the topic before this offset, -1 = nothing has been sent
);
COMMENT ON TABLE {status_sender} IS 'Millrace: who sends status events';

-- Tables that are about to change where DDL commits by itself: whether it did is seen from the shape.
CREATE TABLE IF NOT EXISTS {status_planned} (
    target_schema text        NOT NULL,
    target_table  text        NOT NULL,
    shape         text        NOT NULL, -- hash of the columns before
    recorded_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (target_schema, target_table)
);
COMMENT ON TABLE {status_planned} IS 'Millrace: changes of tables that a status event will tell of';

-- Messages that could not be loaded, with their exact bytes and the reason.
CREATE TABLE IF NOT EXISTS {dead_letter} (
    id                  bigint      GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    recorded_at         timestamptz NOT NULL DEFAULT now(),
    state               text        NOT NULL DEFAULT 'open', -- open or replayed
    state_changed_at    timestamptz,
    pipeline            text        NOT NULL,
    position_topic      text        NOT NULL, -- the partition or file it was read from
    position            bigint      NOT NULL, -- position after the message
    topic               text        NOT NULL, -- the own place of the message
    partition           integer     NOT NULL,
    record_offset       bigint      NOT NULL,
    record_timestamp_ms bigint      NOT NULL, -- milliseconds since 1970, -1 = unknown
    record_key          bytea,                -- null = the message had none
    record_value        bytea,
    is_bare             boolean     NOT NULL, -- a bare event of a file
    headers             text        NOT NULL, -- JSON list of name and base64 value
    code                text        NOT NULL, -- stable word for the reason
    native_code         text        NOT NULL, -- code of the database, if it was the one to refuse
    message             text        NOT NULL,
    field               text        NOT NULL, -- source path, empty = the whole message
    target_schema       text        NOT NULL,
    target_table        text        NOT NULL,
    failed_rows         text        NOT NULL  -- JSON list of the keys that failed, empty = the whole message
);
COMMENT ON TABLE {dead_letter} IS 'Millrace: messages that could not be loaded, and why';
CREATE INDEX IF NOT EXISTS dead_letter_open ON {dead_letter} (pipeline, id) WHERE state = 'open';

INSERT INTO {meta} (id, layout_version, schema_epoch) VALUES (1, 3, 0)
ON CONFLICT (id) DO UPDATE SET layout_version = excluded.layout_version WHERE {meta}.layout_version < excluded.layout_version;

SELECT layout_version FROM {meta}
