SELECT pipeline, topic, "partition", lane, lanes, position, epoch, updated_at
FROM {position}
ORDER BY pipeline, topic, "partition", lane
