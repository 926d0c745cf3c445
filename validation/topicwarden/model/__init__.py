"""Types that all rooms share."""
