"""Reports what each command needs and what is missing: programs, APIs of the brokers, permissions of the user."""
