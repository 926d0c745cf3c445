"""Programs that only this repository needs. Those that `make` starts first use the standard library only."""
