"""Test which record a consumer group reads next."""
