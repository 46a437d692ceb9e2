"""Operations: logs, metrics, health, diagnosis."""
