"""Links a vault should have, those that lead nowhere, and what is learned from what people do with them."""
