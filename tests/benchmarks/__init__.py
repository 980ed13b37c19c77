"""Speed and memory of the real programs, beside their goals. Measures only: no promise of behaviour is tested here."""
