-- ?1 pipeline, ?2 topic.
SELECT format, envelopes_seen FROM {topic_fact} WHERE place_key = UNHEX(SHA2(CONCAT(CHAR_LENGTH(?1), ':', ?1, ?2), 256))
