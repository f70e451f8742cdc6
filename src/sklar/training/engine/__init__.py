"""What every training stands on: steps, loops, graphs, averages, devices and seeds."""
