"""How shutdowns went: facts from pods, events and endpoints become one record per pod. See docs/observe.md."""
