"""The policy pack of `pulumi preview --policy-pack policies`: checks the rules in policies/*.yaml before a deploy."""

from pathlib import Path

from topicwarden.deploy.policy_pack import serve

serve(Path(__file__).parent)
