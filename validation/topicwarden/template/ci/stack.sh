# Every step that runs Pulumi sources this file. It sets the variables that Pulumi needs for $STACK.
# shellcheck shell=bash

# An unset variable or secret reaches the step as an empty string, and Pulumi would use the empty string.
for name in PULUMI_ACCESS_TOKEN PULUMI_BACKEND_URL PULUMI_CONFIG_PASSPHRASE; do
  if [ -z "${!name:-}" ]; then unset "$name"; fi
done
if [ -n "${PULUMI_ACCESS_TOKEN:-}" ]; then
  export PULUMI_BACKEND_URL="${PULUMI_BACKEND_URL:-https://api.pulumi.com}"
fi
variables="$(.venv/bin/topicwarden sandbox env --stack "$STACK")"
eval "$variables"
