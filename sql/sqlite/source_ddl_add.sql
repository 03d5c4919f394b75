-- ?1 pipeline, ?2 topic, ?3 partition, ?4 position, ?5 part.
INSERT INTO {source_ddl} (pipeline, topic, "partition", position, part) VALUES (?1, ?2, ?3, ?4, ?5)
