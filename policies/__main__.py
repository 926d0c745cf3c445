"""`pulumi preview --policy-pack policies`: the rules of policies/*.yaml on what is about to be deployed."""

from pathlib import Path

from topicwarden.deploy.policy_pack import serve

serve(Path(__file__).parent)
