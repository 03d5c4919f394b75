SELECT pipeline, topic, `partition`, lane, lanes, position, epoch, DATE_FORMAT(updated_at, '%Y-%m-%dT%H:%i:%s.%fZ')
FROM {position}
ORDER BY pipeline, topic, `partition`, lane
