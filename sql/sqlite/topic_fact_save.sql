-- ?1 pipeline, ?2 topic, ?3 format, ?4 envelopes seen.
INSERT INTO {topic_fact} (pipeline, topic, format, envelopes_seen)
VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (pipeline, topic) DO UPDATE
SET format = excluded.format, envelopes_seen = excluded.envelopes_seen, updated_at = strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000Z'
