"""Speed as ratios: Homeward and its peers on the same problems in the same run."""
