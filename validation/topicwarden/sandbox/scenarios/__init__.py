"""What the topics of the example project live through: for the demo, and for tests, each as it is in real life."""
