"""An answer as text and as JSON: each fits the call's token budget, and each is enough alone."""
