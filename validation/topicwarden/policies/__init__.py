"""What every topic must obey: rules, one file each, and the policy files that switch them on."""
