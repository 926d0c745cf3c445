"""What the ids mean of problems with the files themselves. No policy switches them: they always hold."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

KINDS: Final = MappingProxyType(
    {
        "allowance-expired": "The last day of an allowed change is over. It permits nothing, and can go.",
        "config-unknown": "Kafka has no topic configuration of this name. The names are those of Kafka's TopicConfig.",
        "config-value": "Kafka's own definition of the configuration refuses this value, so its brokers would, too.",
        "document-extra": "A _defaults.yaml holds one document, as only one can hold for its folder.",
        "duplicate-key": "A key is written twice in one mapping. YAML readers keep one of them without a word.",
        "empty": "A file below topics/ declares nothing.",
        "expression": "An expression of a policy file does not compile, or asks for what a topic does not have.",
        "file-foreign": "A file below topics/ is a topic of another tool's, such as Strimzi's KafkaTopic.",
        "file-kind": "Something below topics/ is named like a YAML file and is none: a folder, a device, a pipe.",
        "file-link": "A symbolic link leads to a folder, out of its tree, or nowhere. It is not followed.",
        "file-name": "A file's name ends in .yml or in capitals. Only .yaml is read, so that nothing is passed over.",
        "file-size": "A file is larger than any that people write. It is not read.",
        "file-unreadable": "A file or folder cannot be opened.",
        "folder-unknown": "A folder is named that does not lie in topics/.",
        "key-type": "A key is no text: a number, true, null, a list or a mapping.",
        "missing": "What must be said is said nowhere, neither in the document nor in a _defaults.yaml above it.",
        "partition-function": "A topic's own partitioner is no function that the stack's settings list in "
        "topicwarden:partitionFunctions, or an expression that does more than compute. The audit does not run it.",
        "rule-twice": "A rule or an expression is set twice, so that one of the two would not hold.",
        "rule-unknown": "A waiver names a rule that there is not.",
        "stack-setting": "A stack's settings file says something of its brokers that cannot be.",
        "stack-unknown": "A stack is named that has no settings file, stacks/Pulumi.<stack>.yaml.",
        "topic-case": "Two topics' names differ in upper and lower case only. Kafka takes both; people, brokers on "
        "case-insensitive disks and some metric stores mix them up.",
        "topic-collision": "Two topics' names differ in '.' and '_' only. Kafka's metrics cannot tell them apart, so "
        "Kafka refuses the second (Topic.unifyCollisionChars).",
        "topic-name": "Kafka takes no topic of this name: at most 249 ASCII letters, digits, '.', '_' and '-' "
        "(org.apache.kafka.common.internals.Topic).",
        "topic-twice": "Two files declare one topic.",
        "topics-unmatched": "A pattern of topics in a policy file matches no declared topic, so what it is part of "
        "holds for nothing.",
        "type": "A value is of another kind than is expected: text for a number, a list for a mapping.",
        "unknown-key": "A key has no meaning here, so what it says would be passed over.",
        "value": "A value is of the right kind, and out of its bounds or choices.",
        "waiver-expired": "A waiver's day has come. The rule holds again, and the waiver is to go.",
        "waiver-unused": "A waiver lets nothing off, so that it can go.",
        "yaml-alias": "Aliases multiply the document beyond what anyone means (a billion laughs).",
        "yaml-comment": "A # begins a comment where a value is expected. In quotes, it is part of the value.",
        "yaml-depth": "Lists and mappings are nested too deep, or an alias names what it stands in.",
        "yaml-encoding": "The file is not UTF-8.",
        "yaml-line": "A line is longer than any that people write. The file is not parsed.",
        "yaml-merge": "The merge key << is of YAML 1.1 only. A _defaults.yaml holds what is shared.",
        "yaml-syntax": "The file is not YAML.",
        "yaml-tag": "A tag such as !!python/object has no meaning here.",
    }
)
"""Each id with a sentence or two; the first says what is wrong."""
