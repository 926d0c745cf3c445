"""The Pulumi policy pack: apply the rules in policies/*.yaml to the planned deploy."""

from pathlib import Path

from topicwarden.deploy.policy_pack import serve

serve(Path(__file__).parent)
