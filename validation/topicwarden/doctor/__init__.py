"""Reports what each command needs, and what of it is missing: programs, APIs of the brokers, rights of the user."""
