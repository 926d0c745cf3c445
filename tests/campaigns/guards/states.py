"""Draw states of Pulumi that no program of topicwarden writes: ``python -m tests.campaigns.guards.states``.

A project has topics, ACLs, users, quotas and settings of groups: declared, adopted, and of somebody else. Each round
edits the YAML and brings some of them into the state in another way: `pulumi import`, with and without a parent and
protection, `pulumi state` commands, and edits of the state's file. Then one command runs.

After each command, a topic, record, ACL, credential, quota or group setting is gone or changed only if the declaration
that was deployed last, or a file that is there now, allows it. Each object of a project counts as one sequence.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

from kafka.admin import NewTopic

from tests.support.access_names import (
    ACL_TYPE,
    GROUP_CONFIG_TYPE,
    QUOTA_TYPE,
    SCRAM_TYPE,
    acl_properties,
    resource_name,
)
from tests.support.projects import empty_stack, own_cache, project_of
from tests.support.sandboxes import running
from topicwarden.cli.sandbox import sandbox_of
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.kafka.connect.clients import connected
from topicwarden.kafka.connect.stack_connection import connect_to
from topicwarden.kafka.read.cluster import open_cluster
from topicwarden.kafka.write.access_admin import (
    GROUP_SETTINGS,
    Credential,
    Password,
    alter_quotas,
    create_acls,
    write_credentials,
)
from topicwarden.kinds.access_resource import ACCESS_SET_TYPE
from topicwarden.kinds.topic.resource import DOMAIN_TYPE, SET_TYPE, TOPIC_TYPE
from topicwarden.model.access import AccessKey, Acl, Operation, PermissionType, ResourceType

_MECHANISM: Final = "SCRAM-SHA-256"
_PREFIX: Final = "urn:pulumi:dev::topicwarden::"
_OVERRIDES: Final = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
_Live: TypeAlias = Mapping[tuple[str, str], object]
_WORDS: Final = {
    "topic": "delete",
    "acl": "revoke-access",
    "user": "remove-credential",
    "quota": "throttle-clients",
}
"""The word that a command without a program needs to remove an object of a kind; others need none."""


@dataclass
class Thing:
    """One object on the cluster. ``homes`` are the topics and files that may declare it; none for a foreign one."""

    kind: str
    name: str
    homes: tuple[str, ...] = ()
    adopted: bool = False
    declared: bool = True

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


@dataclass
class Tally:
    """The counts over all projects."""

    sequences: int = 0
    rounds: int = 0
    commands: Counter[str] = field(default_factory=Counter)
    drawn: Counter[str] = field(default_factory=Counter)
    gone: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """Yield the counts, one line each."""
        yield f"{self.sequences} sequences, {self.rounds} rounds"
        for name, counts in (("commands", self.commands), ("states", self.drawn), ("gone as allowed", self.gone)):
            yield f"{name}: " + ", ".join(f"{number} {what}" for what, number in sorted(counts.items()))
        yield from self.violations
        yield f"violations: {len(self.violations)}"


class Run:
    """One project with its own state, on a broker that it shares with earlier projects."""

    def __init__(self, sandbox: Sandbox, folder: Path, name: str, seed: str, tally: Tally) -> None:
        self._sandbox, self._name, self._tally = sandbox, name, tally
        self._random = random.Random(seed)
        self._seed = seed
        self._project = project_of(folder / name, {})
        self._state = folder / f"{name}-state"
        self._shell = empty_stack(self._project, self._state)
        topics = [f"{name}.{number}" for number in "012"]
        self.things = [
            *(Thing("topic", topic, (topic,)) for topic in topics),
            *(Thing("topic", f"{name}.f{number}") for number in "01"),
            Thing("acl", f"{name}-consume", (topics[0],)),
            Thing("acl", f"{name}-file", ("access/a.yaml",)),
            Thing("acl", f"{name}-two", ("access/a.yaml", "access/b.yaml")),
            *(Thing("acl", f"{name}-f{number}") for number in "01"),
            Thing("user", f"{name}-made", ("access/a.yaml",)),
            Thing("user", f"{name}-adopted", ("access/b.yaml",), adopted=True),
            Thing("user", f"{name}-foreign"),
            Thing("quota", f"{name}-limited", ("access/a.yaml",)),
            Thing("quota", f"{name}-other"),
            Thing("group", f"{name}-group", ("access/b.yaml",)),
            Thing("group", f"{name}-others"),
        ]
        self._allow: dict[str, set[str]] = {home: set() for thing in self.things for home in thing.homes}
        self._iterations = 4096
        self._deployed: dict[str, dict[str, set[str]]] = {}
        """By object: the words of each home at the last deploy."""
        self._ours = {f"{name}-made"}
        """Users whose password a deploy has written."""
        self._saved = ""

    def run(self, rounds: int) -> None:
        """Deploy, and take the rounds."""
        self._create_others()
        self._shell.run("pulumi", "config", "set", "--secret", "app", "hunter2-never-written")
        self._write()
        done = self._shell.run("pulumi", "up", "--yes", "--skip-preview", "--non-interactive")
        assert done.returncode == 0, done.stdout + done.stderr
        self._deploy()
        self._tally.sequences += len(self.things)
        for number in range(rounds):
            self._tally.rounds += 1
            self._round(number)

    def _create_others(self) -> None:
        """Create what is not the project's own, and what it adopts."""
        with connected(list(self._sandbox.bootstrap_servers)) as admin:
            foreign = [thing for thing in self.things if not thing.homes or thing.adopted]
            topics = [thing.name for thing in foreign if thing.kind == "topic"]
            admin.create_topics([NewTopic(topic, 2, 1) for topic in topics])
            create_acls(admin, [self._key(thing) for thing in foreign if thing.kind == "acl"])  # type: ignore[misc]
            users = [Credential(thing.name, _MECHANISM) for thing in foreign if thing.kind == "user"]
            write_credentials(admin, dict.fromkeys(users, Password("theirs-never-written", 4096)))
            limited = [(("user", thing.name),) for thing in foreign if thing.kind == "quota"]
            alter_quotas(admin, {entity: {"producer_byte_rate": 9e6} for entity in limited})
            alter_quotas(admin, {(("user", f"{self._name}-limited"),): {"request_percentage": 77.0}})
            groups = [thing.name for thing in foreign if thing.kind == "group"]
            GROUP_SETTINGS.alter(admin, {group: {"consumer.session.timeout.ms": "50000"} for group in groups})
        with writing(list(self._sandbox.bootstrap_servers)) as writer:
            for topic in topics:
                writer.send(topic, "k", "v")

    def _key(self, thing: Thing) -> AccessKey:
        if thing.kind == "acl":
            topic = f"{self._name}.0"
            return Acl(f"User:{thing.name}", "*", Operation.READ, PermissionType.ALLOW, ResourceType.TOPIC, topic)
        if thing.kind == "user":
            return thing.name, _MECHANISM
        return (("user", thing.name),) if thing.kind == "quota" else thing.name

    def _write(self) -> None:
        """Write the YAML of everything that is declared."""
        name = self._name
        topics, files = list[str](), {"access/a.yaml": dict[str, Any](), "access/b.yaml": dict[str, Any]()}
        declared = {(thing.kind, thing.name): thing for thing in self.things if thing.homes and thing.declared}
        for number in "012":
            if ("topic", topic := f"{name}.{number}") in declared:
                access = (
                    f", access: {{consume: ['User:{name}-consume']}}"
                    if number == "0" and self._thing("acl", f"{name}-consume").declared
                    else ""
                )
                words = ", ".join(sorted(self._allow[topic]))
                topics.append(
                    f"{{topic: {topic}, owner: team, partitions: 2, replication_factor: 1, allow: [{words}]{access}}}\n"
                )
        topics.append(f"{{topic: {name}.always, owner: team, partitions: 1, replication_factor: 1}}\n")
        for thing in declared.values():
            for home in thing.homes:
                if home in files:
                    self._declare(files[home], thing)
        (self._project.topics / "all.yaml").write_text("---\n".join(topics), encoding="utf-8")
        self._project.access.mkdir(exist_ok=True)
        for file, document in files.items():
            text = json.dumps({**document, "allow": sorted(self._allow[file])})
            (self._project.root / file).write_text(text, encoding="utf-8")

    def _declare(self, document: dict[str, Any], thing: Thing) -> None:
        if thing.kind == "acl":
            entry = {"principal": f"User:{thing.name}", "operations": ["Read"], "resource": "Topic"}
            document.setdefault("acls", []).append({**entry, "name": f"{self._name}.0"})
        elif thing.kind == "user":
            password = {"secret": "app", "version": 1}
            settings = {"mechanism": _MECHANISM, "iterations": self._iterations, "password": password}
            document.setdefault("users", {})[thing.name] = settings
        elif thing.kind == "quota":
            document.setdefault("quotas", []).append({"user": thing.name, "producer_byte_rate": "1MiB"})
        elif thing.kind == "group":
            document.setdefault("group_configs", {})[thing.name] = {"consumer.session.timeout.ms": "55s"}

    def _thing(self, kind: str, name: str) -> Thing:
        return next(thing for thing in self.things if (thing.kind, thing.name) == (kind, name))

    def _declared(self, thing: Thing) -> bool:
        """Return whether a file declares the object; access of a topic goes with its topic."""
        topics = [self._thing("topic", home) for home in thing.homes if "/" not in home]
        return bool(thing.homes) and thing.declared and all(topic.declared for topic in topics)

    def _deploy(self) -> None:
        """Note what a successful deploy has declared."""
        self._deployed = {
            str(thing): {home: set(self._allow[home]) for home in thing.homes}
            for thing in self.things
            if self._declared(thing)
        }
        self._saved = self._file().read_text(encoding="utf-8")

    def _file(self) -> Path:
        return next(self._state.rglob("stacks/*/dev.json"))

    def _round(self, number: int) -> None:
        draw = self._random
        if self._saved and draw.random() < 0.5:
            self._file().write_text(self._saved, encoding="utf-8")
        did = [self._edit_yaml() for _ in range(draw.randint(0, 2))]
        self._write()
        did += [self._draw_state() for _ in range(draw.randint(1, 3))]
        before = self._observe()
        command = self._command()
        done = self._shell.run(*command, timeout=200)
        after = self._observe()
        words = " ".join(command).replace(_PREFIX, "")
        self._tally.commands[f"{command[0]} {command[1]} {'succeeded' if done.returncode == 0 else 'refused'}"] += 1
        for fault in self._judge(before, after, command):
            self._tally.violations.append(
                f"seed {self._seed}, round {number}: `{words}` after {'; '.join(did)}: {fault}"
            )
        if done.returncode == 0 and command[1] == "up" and "--target" not in command:
            changed = {
                name
                for name, what in {*before, *after}
                if what == "writes" and after.get((name, what)) != before.get((name, what))
            }
            self._ours |= {thing.name for thing in self.things if str(thing) in changed and self._declared(thing)}
            self._deploy()

    def _edit_yaml(self) -> str:
        draw = self._random
        what = draw.random()
        if what < 0.45:
            home = draw.choice(sorted(self._allow))
            words = (
                ("delete", "revoke-access")
                if "/" not in home
                else ("revoke-access", "remove-credential", "replace-credential", "throttle-clients")
            )
            self._allow[home] = {word for word in words if draw.random() < 0.5}
            return f"allow {sorted(self._allow[home])} in {home}"
        if what < 0.6:
            self._iterations = draw.choice((4096, 5000, 6000))
            return f"{self._iterations} iterations"
        thing = draw.choice([thing for thing in self.things if thing.homes])
        thing.declared = not thing.declared
        return f"{'declare' if thing.declared else 'withdraw'} {thing}"

    def _draw_state(self) -> str:
        draw = self._random
        kinds: dict[str, Callable[[], str]] = {
            "import": self._import,
            "command": self._state_command,
            "edit": self._edit_state,
        }
        kind = draw.choices(list(kinds), (45, 15, 40))[0]
        drawn = kinds[kind]()
        self._tally.drawn[drawn.partition(" of ")[0]] += 1
        return drawn

    def _import(self) -> str:
        """Import objects of any origin with `pulumi import --file`."""
        draw = self._random
        chosen = draw.sample(self.things, 3)
        provider = next(iter(self._urns("pulumi:providers:kafka")), None)
        resources, names = list[dict[str, Any]](), {"p": provider}
        for thing in chosen:
            own = thing.name if thing.kind == "topic" else resource_name(self._key(thing))
            name, letter = draw.choice((own, f"own-{thing.name}")), thing.kind[0]
            entry = {"type": self._type(thing), "name": name, "id": self._id(thing), "provider": "p"}
            parent = next(iter(self._urns(DOMAIN_TYPE if thing.kind == "topic" else ACCESS_SET_TYPE)), None)
            if parent is not None and draw.random() < 0.6:
                names[letter] = parent
                entry["parent"] = letter
            resources.append(entry)
        file = self._project.root / "imported.json"
        if provider is None:
            return "no import of anything: no provider"
        file.write_text(json.dumps({"nameTable": names, "resources": resources}), encoding="utf-8")
        protect = draw.choice(("true", "false", "false"))
        done = self._shell.run(
            *("pulumi", "import", "--file", str(file), "--yes", "--skip-preview", "--non-interactive"),
            *("--generate-code=false", f"--protect={protect}"),
        )
        result = "import" if done.returncode == 0 else "failed import"
        return f"{result} of {', '.join(map(str, chosen))} (protect {protect})"

    def _type(self, thing: Thing) -> str:
        types = {
            "topic": TOPIC_TYPE,
            "acl": ACL_TYPE,
            "user": SCRAM_TYPE,
            "quota": QUOTA_TYPE,
            "group": GROUP_CONFIG_TYPE,
        }
        return types[thing.kind]

    def _id(self, thing: Thing) -> str:
        key = self._key(thing)
        if isinstance(key, Acl):
            return "|".join(acl_properties(key).values())
        password = self._random.choice(("", "|theirs-never-written"))
        return {"user": f"{thing.name}|{_MECHANISM}{password}", "quota": f"{thing.name}|user"}.get(
            thing.kind, thing.name
        )

    def _urns(self, type: str) -> list[str]:
        return [str(each["urn"]) for each in self._resources() if each["type"] == type]

    def _resources(self) -> list[dict[str, Any]]:
        state = json.loads(self._file().read_text(encoding="utf-8"))["checkpoint"]["latest"] or {}
        return list(state.get("resources") or [])

    def _leaves(self) -> list[dict[str, Any]]:
        return [each for each in self._resources() if each["type"].startswith("kafka:")]

    def _state_command(self) -> str:
        draw = self._random
        if not (leaves := self._leaves()):
            return "no state command of anything"
        urn = str(draw.choice(leaves)["urn"])
        verb = draw.choice(("taint", "rename", "delete", "unprotect"))
        more = {"rename": ["renamed"], "delete": ["--force"]}.get(verb, [])
        self._shell.run("pulumi", "state", verb, urn, *more, "--yes", "--non-interactive")
        return f"state {verb} of {urn.rpartition('::')[2]}"

    def _edit_state(self) -> str:
        """Edit the file of the state."""
        draw = self._random
        file = self._file()
        state = json.loads(file.read_text(encoding="utf-8"))
        resources = (state["checkpoint"]["latest"] or {}).get("resources") or []
        leaves = [each for each in resources if each["type"].startswith("kafka:")]
        sets = [each for each in resources if each["type"] in (ACCESS_SET_TYPE, SET_TYPE)]
        if not leaves or not sets:
            return "no edit of anything"
        what = draw.choice(("outputs", "record", "taint", "delete", "unprotect", "rate", "copy"))
        leaf, outputs = draw.choice(leaves), draw.choice(sets).setdefault("outputs", {})
        if what == "outputs":
            outputs.clear()
        elif what == "record":
            for name in draw.sample(sorted(outputs.get("declared") or {}), min(2, len(outputs.get("declared") or {}))):
                del outputs["declared"][name]
        elif what == "unprotect":
            leaf = _unprotected(leaves)
        elif what == "rate":
            leaf = _with_rate(leaves)
        elif what == "copy":
            resources.append({**leaf, "urn": f"{leaf['urn']}-copy", "protect": False})
        else:
            leaf[what] = True
        file.write_text(json.dumps(state), encoding="utf-8")
        return f"edit {what} of {leaf['urn'].rpartition('::')[2]}"

    def _command(self) -> tuple[str, ...]:
        draw = self._random
        leaves = self._leaves()
        target = ("--target", str(draw.choice(leaves)["urn"])) if leaves else ()
        quiet = ("--yes", "--skip-preview", "--non-interactive")
        commands: dict[tuple[str, ...], int] = {
            ("topicwarden", "up", "--stack", "dev", "--yes"): 4,
            ("pulumi", "up", *quiet): 4,
            ("pulumi", "up", *quiet, "--refresh"): 2,
            ("pulumi", "up", *quiet, "--continue-on-error"): 2,
            ("pulumi", "up", *quiet, *target): 2,
            ("pulumi", "up", *quiet, *(("--replace", target[1]) if target else ())): 3,
            ("pulumi", "destroy", *quiet): 3,
            ("pulumi", "destroy", *quiet, "--continue-on-error"): 6,
            ("pulumi", "destroy", *quiet, *target, "--target-dependents"): 3,
            ("pulumi", "destroy", *quiet, "--exclude-protected"): 2,
            ("topicwarden", "destroy", "--stack", "dev", "--yes"): 4,
            ("pulumi", "refresh", *quiet): 1,
        }
        return draw.choices(list(commands), list(commands.values()))[0]

    def _observe(self) -> dict[tuple[str, str], object]:
        """Return everything on the cluster that a command could change, by object and property."""
        found: dict[tuple[str, str], object] = {}
        topics = [thing.name for thing in self.things if thing.kind == "topic"]
        groups = [thing.name for thing in self.things if thing.kind == "group"]
        with open_cluster(connect_to(self._project, "dev")) as cluster:
            live, access = cluster.snapshot(topics), cluster.access(groups)
        log = b"".join(file.read_bytes() for file in (self._sandbox.log_dir(1) / "__cluster_metadata-0").glob("*.log"))
        for thing in self.things:
            key = self._key(thing)
            if thing.kind == "topic" and thing.name in live.topics:
                topic = live.topics[thing.name]
                found[str(thing), "id"] = topic.id
                found[str(thing), "start"] = str({number: each.start for number, each in topic.extents.items()})
            elif thing.kind == "acl" and key in (access.acls or ()):
                found[str(thing), "exists"] = True
            elif thing.kind == "user" and key in (access.users or {}):
                found[str(thing), "exists"] = True
                found[str(thing), "writes"] = log.count(thing.name.encode())
            elif thing.kind == "quota":
                quotas: Any = access.quotas or {}
                rates = quotas.get(key, {})
                found |= {(str(thing), name): rate for name, rate in rates.items()}
            elif thing.kind == "group":
                found |= {
                    (str(thing), name): value
                    for name, value in (access.group_configs or {}).get(thing.name, {}).items()
                }
        return found

    def _judge(self, before: _Live, after: _Live, command: tuple[str, ...]) -> Iterator[str]:
        things = {str(thing): thing for thing in self.things}
        for (name, what), value in before.items():
            if after.get((name, what)) == value:
                continue
            thing = things[name]
            if what == "writes" and (name, "exists") not in after:
                continue
            if reason := self._fault(thing, what, command):
                yield f"{name}: {what} went from {value} to {after.get((name, what), 'nothing')}: {reason}"
            else:
                self._tally.gone[f"{thing.kind} {what}"] += 1

    def _fault(self, thing: Thing, what: str, command: tuple[str, ...]) -> str:
        """Return why a change is a fault; empty if something allows it."""
        last = self._deployed.get(str(thing))
        present = {home for each in self.things if self._declared(each) for home in each.homes}
        now = {home: self._allow[home] for home in thing.homes if home in present}
        if last is None and not self._declared(thing):
            return "no deploy has declared it, and no file declares it"
        if thing.kind in ("quota", "group"):
            own = {"quota": "producer_byte_rate", "group": "consumer.session.timeout.ms"}[thing.kind]
            if what != own or thing.kind == "group" or command[:2] != ("pulumi", "destroy"):
                return "" if what == own else "nobody has declared this name"
        if what == "writes":
            allowed = thing.name in self._ours or any("replace-credential" in words for words in now.values())
            return "" if allowed else "its password is not ours"
        if thing.kind == "acl" and (command[0] == "topicwarden" or command[1] == "up"):
            return "" if last is not None else "no deploy has declared it"
        word = _WORDS[thing.kind]
        homes = {home: (last or {}).get(home, set()) | now.get(home, set()) for home in {*(last or {}), *now}}
        if command[:2] == ("topicwarden", "destroy") and thing.kind == "topic" and now and word not in now[thing.name]:
            return "the file that is there withdraws the word"
        return "" if homes and all(word in words for words in homes.values()) else f"not every home allows {word}"


def _unprotected(resources: list[dict[str, Any]]) -> dict[str, Any]:
    for each in resources:
        each["protect"] = False
    return resources[0]


def _with_rate(resources: list[dict[str, Any]]) -> dict[str, Any]:
    """Add a rate of somebody else to the quotas in the state; return one of them, or another resource."""
    quotas = [each for each in resources if each["type"] == QUOTA_TYPE]
    for each in quotas:
        for part in ("inputs", "outputs"):
            each[part].setdefault("config", {})["request_percentage"] = "77"
    return (quotas or resources)[0]


def run(folder: Path, seed: str, projects: range, rounds: int, tally: Tally) -> None:
    """Run the projects with these numbers on one broker, with its files in ``folder``."""
    with ExitStack() as stack:
        stack.enter_context(own_cache(folder, warm=True))
        sandbox = stack.enter_context(
            running(sandbox_of(project_of(folder / "sandbox", {})), brokers=1, overrides=_OVERRIDES)
        )
        for number in projects:
            began, seen = time.monotonic(), len(tally.violations)
            Run(sandbox, folder, f"d{number}", f"{seed}/{number}", tally).run(rounds)
            print(f"project {number}: {tally.sequences} sequences, {time.monotonic() - began:.0f} s", flush=True)
            print("\n".join(tally.violations[seen:]), flush=True)


def main() -> int:
    """Run the projects; return 1 if a command broke the invariant."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns.guards.states", description=__doc__)
    parser.add_argument("--projects", type=int, default=20, help="how many, with 17 objects each")
    parser.add_argument("--first", type=int, default=0, help="the number of the first project")
    parser.add_argument("--rounds", type=int, default=8, help="commands of each project")
    parser.add_argument("--seed", default="20261127", help="everything is drawn from it")
    arguments = parser.parse_args()
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder:
        projects = range(arguments.first, arguments.first + arguments.projects)
        try:
            run(Path(folder), arguments.seed, projects, arguments.rounds, tally)
        finally:
            print("\n".join(tally.lines()), flush=True)
    return 1 if tally.violations else 0


if __name__ == "__main__":
    sys.exit(main())
