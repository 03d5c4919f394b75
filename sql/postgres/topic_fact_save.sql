-- $1 pipeline, $2 topic, $3 format, $4 envelopes seen.
INSERT INTO {topic_fact} (pipeline, topic, format, envelopes_seen)
VALUES ($1::text, $2::text, $3::text, $4::boolean)
ON CONFLICT (pipeline, topic) DO UPDATE
SET format = excluded.format, envelopes_seen = excluded.envelopes_seen, updated_at = now()
