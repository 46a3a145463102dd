"""What the desk costs, against plain SQL on the same machine in the same run."""
