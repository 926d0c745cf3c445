"""Rules that every topic must meet: one module for each rule, and the policy files that configure them.

Each `policies/*.yaml` can have `rules`, `expressions`, `waivers`, `usage` and `cost`. A rule that is always on also
applies if no policy file names it. If a policy file names it, the settings given there apply. A list of settings makes
a rule differ by scope: the first entry whose scope matches a topic applies to it. A rule that is always on applies with
its default settings to topics that no entry matches.

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
