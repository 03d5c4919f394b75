/* Topics from shell scripts, without the second that a Java tool takes:
 *
 *   kafka_topic BOOTSTRAP create TOPIC PARTITIONS
 *   kafka_topic BOOTSTRAP grow TOPIC PARTITIONS
 *   kafka_topic BOOTSTRAP delete TOPIC
 *   kafka_topic BOOTSTRAP trim TOPIC PARTITION OFFSET      remove what is before the offset
 */
#include "kafka_admin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[2], "create") == 0)
        test_kafka_create_topic(argv[1], argv[3], (int)strtol(argv[4], NULL, 10));
    else if (argc == 5 && strcmp(argv[2], "grow") == 0)
        test_kafka_add_partitions(argv[1], argv[3], (int)strtol(argv[4], NULL, 10));
    else if (argc == 4 && strcmp(argv[2], "delete") == 0)
        test_kafka_delete_topic(argv[1], argv[3]);
    else if (argc == 6 && strcmp(argv[2], "trim") == 0)
        test_kafka_delete_records(argv[1], argv[3], (int)strtol(argv[4], NULL, 10),
                                  strtoll(argv[5], NULL, 10));
    else {
        fprintf(stderr, "usage: kafka_topic BOOTSTRAP create|grow|delete|trim TOPIC [NUMBER [OFFSET]]\n");
        return 2;
    }
    return 0;
}
