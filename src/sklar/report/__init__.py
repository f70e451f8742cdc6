"""What people look at: plots and pages."""
