"""The volume: btrfs (`subvolumes`), the snapshots on it, how to read them safely, and what has been proven of them (`images`)."""
