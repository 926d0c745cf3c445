"""Everything that uses Pulumi: the program and its components, the policy pack, the engine, and a language host."""
