-- ?1 pipeline, ?2 topic, ?3 format, ?4 envelopes seen.
INSERT INTO {topic_fact} (place_key, pipeline, topic, format, envelopes_seen, updated_at)
VALUES (UNHEX(SHA2(CONCAT(CHAR_LENGTH(?1), ':', ?1, ?2), 256)), ?1, ?2, ?3, ?4, UTC_TIMESTAMP(6))
ON DUPLICATE KEY UPDATE format = VALUES(format), envelopes_seen = VALUES(envelopes_seen), updated_at = VALUES(updated_at)
