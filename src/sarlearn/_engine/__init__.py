"""The numerical rooms: rows, sums over them, likelihood and solvers. README.md has the map."""
