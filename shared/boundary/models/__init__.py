"""Request and answer models, one file a verb (`base` shows the pattern)."""
