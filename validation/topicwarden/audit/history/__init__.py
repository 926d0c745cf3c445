"""What audits remember: a second look settles what one cannot. Of records, only 64-bit hashes of keys are kept."""
