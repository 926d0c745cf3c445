"""A partitioner of a team's own."""


def by_first_letter(key: bytes, partitions: int) -> int:
    """The partition of a key that begins with a small letter."""
    return (key[0] - ord("a")) % partitions
