"""What the registry does: publish, list, view, refresh, reconcile. Knows no AWS SDK and no HTTP."""
