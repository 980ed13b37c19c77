"""Tests of webhook.drainable: called directly, with real processes, and under the real servers."""
