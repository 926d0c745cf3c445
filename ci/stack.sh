# Sourced by each step that runs Pulumi: the variables that it needs for a stack.
# shellcheck shell=bash

# A variable or secret that nobody has set reaches a step as an empty one, which Pulumi takes at its word.
for name in PULUMI_ACCESS_TOKEN PULUMI_BACKEND_URL PULUMI_CONFIG_PASSPHRASE; do
  if [ -z "${!name:-}" ]; then unset "$name"; fi
done
if [ -n "${PULUMI_ACCESS_TOKEN:-}" ]; then
  export PULUMI_BACKEND_URL="${PULUMI_BACKEND_URL:-https://api.pulumi.com}"
fi
variables="$(.venv/bin/topicwarden sandbox env --stack "$STACK")"
eval "$variables"
