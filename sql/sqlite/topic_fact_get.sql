-- ?1 pipeline, ?2 topic.
SELECT format, envelopes_seen FROM {topic_fact} WHERE pipeline = ?1 AND topic = ?2
