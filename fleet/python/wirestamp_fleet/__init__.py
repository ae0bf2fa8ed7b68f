"""Which clocks of a fleet are wrong, by how much at most, and how long packets take between any two hosts."""
