"""The program of `pulumi up`: deploys every topic in topics/ with the settings of the selected stack."""

from topicwarden.deploy.program import deploy

deploy()
