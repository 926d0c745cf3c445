"""Run topicwarden in GitHub Actions and GitLab CI: what the run is about, and the comment on its pull request."""
