"""Links a vault should have, links that lead nowhere, and learning from what people do with them."""
