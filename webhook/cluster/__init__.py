"""What drainhook does with a live cluster. Only modules of this folder import the kubernetes client, and lazily."""
