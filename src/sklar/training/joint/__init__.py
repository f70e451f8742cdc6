"""The paper's training: both networks minimise one loss together."""
