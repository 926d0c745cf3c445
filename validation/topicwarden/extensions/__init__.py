"""Operations beside the core, each with all of its parts. Only `cli` imports them."""
