"""What every topic must obey: rules, one file each, and the policy files that tell them more.

Every `policies/*.yaml` may have `rules`, `expressions` and `waivers`. A rule that is always on holds without being
named; named in a policy file, it holds with the settings given there. A list of settings makes a rule differ by scope:
the first whose scope fits a topic is the one that holds for it, and a rule that is always on holds as it comes for the
topics that none fits.

```yaml
rules:
  partitions:
    - {max: 200, domains: [clickstream]}
    - {max: 60}
  retention:
    - {level: off, topics: 'scratch.*'}
    - {max: 30d}
expressions:
  - id: compacted-topics-need-keys
    when: '"compact" in topic.config["cleanup.policy"]'
    require: topic.contents.key.required
    message: A compacted topic without keys cannot be written.
waivers:
  - {rule: retention, topics: 'legacy.*', until: 2027-01-31, reason: moves to tiered storage, by: team-platform}
```
"""
