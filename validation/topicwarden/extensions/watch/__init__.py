"""The parts of `topicwarden watch`: the loop of audits, the lock of a history, and the HTTP server."""
