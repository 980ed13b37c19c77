"""What drainhook adds to the creation of a pod, through the real API server. No test waits for a figure of it."""
