"""Other people's studies: their data, their labelling mechanisms, and their published figures."""
