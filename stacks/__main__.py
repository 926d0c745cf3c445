"""`pulumi up`: every topic of topics/, as this stack declares it."""

from topicwarden.deploy.program import deploy

deploy()
