"""What acts on the world: the engine, its steps, the watch, and the adapters for cluster, power and tickets."""
