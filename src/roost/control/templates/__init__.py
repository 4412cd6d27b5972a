"""What sandboxes are made from: which templates there are, and making one."""
