"""The ids of problems with the files themselves, with their meaning. Policies cannot turn them off."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

PROBLEM_IDS: Final = MappingProxyType(
    {
        "access-contradiction": "An ACL is declared with Allow and with Deny. Deny always wins.",
        "access-twice": "Two files below access/ declare the same entry, such as an application, a user or a group.",
        "allowance-expired": "The last day of an allowed change has passed. The entry allows nothing; delete it.",
        "allowance-idle": "A change of subjects is allowed where no subject is declared. The entry allows nothing.",
        "config-unknown": "Kafka has no configuration of this name. The names are those of Kafka's TopicConfig and "
        "GroupConfig.",
        "config-value": "Kafka's own definition of the configuration rejects this value, so its brokers would, too.",
        "document-extra": "A _defaults.yaml has more than one document. Only one document can apply to its folder.",
        "duplicate-key": "A key is written twice in one mapping. Most YAML readers silently ignore one of them.",
        "empty": "A file below topics/, access/ or subjects/ declares nothing.",
        "expression": "An expression of a policy file does not compile, or uses a field that topics do not have.",
        "file-foreign": "A file below topics/ or access/ is one of another tool, such as Strimzi's KafkaTopic.",
        "file-hidden": "A YAML file below topics/ has a name that begins with a dot. It is not read.",
        "file-kind": "An entry below topics/ is named like a YAML file but is a folder, a device, a pipe or a socket.",
        "file-link": "A symbolic link points to a folder, outside its tree, or to nothing. It is not followed.",
        "file-name": "A file's name ends in .yml or in capitals, or Pulumi has no stack of this name. The error "
        "prevents a silent skip.",
        "file-size": "A file is too large for a declaration that people write. It is not read.",
        "file-unreadable": "A file or folder cannot be opened.",
        "folder-unknown": "A named folder does not exist in topics/.",
        "key-type": "A key is not text but a number, true, null, a list or a mapping.",
        "missing": "A required setting is missing, both in the document and in every _defaults.yaml above it.",
        "partition-function": "A topic's own partitioner is not a function that the stack's settings list in "
        "topicwarden:partitionFunctions, or its expression does more than compute. The audit does not run it.",
        "plaintext-secret": "A secret in a stack's settings file is not encrypted, or a password is written below "
        "access/, so everyone who can read the repository can read it.",
        "problems-more": "A file has more errors, or more warnings, than are reported.",
        "project-file": "Pulumi cannot read the project's Pulumi.yaml, so nothing can be deployed.",
        "rule-twice": "A rule, an expression, usage or cost is set twice. Only one of the two could apply.",
        "rule-unknown": "A waiver names an unknown rule.",
        "schema-compatibility": "With --base: a schema is not compatible with that of the Git commit, by the declared "
        "level, or it was not compared.",
        "scope-outside": "A declared topic, or declared access, is outside of the scope of a stack "
        "(topicwarden:scope), so it belongs to another team.",
        "scope-overlap": "Two stacks own the same topic of one cluster: the topic is in the scope of both.",
        "stack-setting": "A setting in a stack's settings file is unknown or invalid.",
        "stack-unknown": "A stack has no settings file, stacks/Pulumi.<stack>.yaml.",
        "subject-name": "A subject of the Schema Registry has no name, or is named in two ways.",
        "subject-reference": "A reference leads to no declared subject, is declared twice, or is circular.",
        "subject-registry": "A stack declares subjects, but its settings name no Schema Registry "
        "(topicwarden:schemaRegistry).",
        "subject-schema": "The schema of a subject is missing, cannot be read, or does not compile.",
        "subject-twice": "Two topics or files declare the same subject with different schemas or settings.",
        "topic-case": "Two topic names differ only in upper and lower case. Kafka accepts both. People, brokers on "
        "case-insensitive disks and some metric stores confuse them.",
        "topic-collision": "Two topic names differ only in '.' and '_'. Kafka's metrics cannot distinguish them, so "
        "Kafka rejects the second (Topic.unifyCollisionChars).",
        "topic-name": "Kafka rejects this topic name. Names have at most 249 ASCII letters, digits, '.', '_' and '-' "
        "(org.apache.kafka.common.internals.Topic).",
        "topic-twice": "Two files declare the same topic.",
        "topics-unmatched": "A topic pattern in a policy file matches no declared topic, so its rule, its waiver or "
        "its exemption has no effect.",
        "type": "A value has another type than expected: text instead of a number, a list instead of a mapping.",
        "unchecked-certificate": "A certificate or key is not checked, because this installation has no package "
        "that reads it.",
        "unknown-key": "A key is unknown here. Its value would have no effect.",
        "value": "A value has the right type but is out of bounds or not one of the choices.",
        "waiver-expired": "A waiver's last day has passed. The rule applies again; delete the waiver.",
        "waiver-unused": "A waiver excuses no finding; delete it.",
        "yaml-alias": "Aliases expand the document to an excessive size (billion laughs attack).",
        "yaml-comment": "A # begins a comment where a value is expected. In quotes, it is part of the value.",
        "yaml-depth": "Lists and mappings are nested too deeply, or an alias refers to one of its parents.",
        "yaml-encoding": "The file is not UTF-8.",
        "yaml-line": "A line is too long for a file that people write. The file is not parsed.",
        "yaml-merge": "The merge key << exists only in YAML 1.1. Put shared settings in a _defaults.yaml.",
        "yaml-syntax": "The file is not YAML.",
        "yaml-tag": "A tag such as !!python/object is not supported.",
    }
)
"""Each id with one or more sentences; the first describes the problem."""
