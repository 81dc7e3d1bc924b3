"""Tables as people have them: mixed columns, gaps, words; read, encoded, written."""
