"""The pure core: values in, values out. No network, clock, environment, logging, kubernetes or fastapi here."""
