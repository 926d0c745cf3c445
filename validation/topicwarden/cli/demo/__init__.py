"""`topicwarden demo`: a story on the sandbox, and chapters that one can add.

Each chapter is one module, and one line in `demo.CHAPTERS`.
"""
