"""The history: what earlier audits saved, so that later ones can decide open findings. It has no keys, only hashes."""
