"""SavedModel export."""
