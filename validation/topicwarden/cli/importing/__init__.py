"""What `topicwarden import` is made of."""
