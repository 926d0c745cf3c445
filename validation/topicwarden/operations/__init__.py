"""The operations of topicwarden as functions: values in, a report out. No function prints or exits."""
