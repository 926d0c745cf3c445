"""Types that all packages share."""
