"""The HTTP door: routes, TLS, metrics and the process around them. No decision is made here."""
