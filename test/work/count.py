#!/usr/bin/env python3
"""Count what each task of a transcript did, independently of the module.

    count.py TRANSCRIPT

prints one JSON object: `tasks', a list of {names, figures} with all contents that
a task had; `outside' and `whole', figures.  Figures are files {path: [added,
removed, edits]}, added, removed, edits, commands, responses and tokens.

The rules: an event counts once, for each task in progress at the line of its
result, once for the whole, and outside if no task is in progress.  Tokens count at
the first line of their response, a subagent's work at the line of its call.
"""
import collections, difflib, glob, json, os, re, sys

SHELL_CLAUDE = {"Bash", "PowerShell"}
SHELL_CODEX = {"exec_command", "shell", "shell_command", "local_shell", "container.exec"}
PLAN = {"TodoWrite", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet", "update_plan"}
KINDS = ("input", "output", "cacheRead", "cacheWrite")


def line_count(text):
    return text.count("\n") + (1 if text and not text.endswith("\n") else 0)


def difference(old, new):
    old, new = old.split("\n"), new.split("\n")
    rows = [[0] * (len(new) + 1)]
    for a in old:
        row, above = [0], rows[-1]
        for place, b in enumerate(new):
            row.append(above[place] + 1 if a == b else max(above[place + 1], row[place]))
        rows = [row]
    same = rows[-1][-1]
    return len(new) - same, len(old) - same


class Figures:
    def __init__(self):
        self.files = {}
        self.commands = collections.Counter()
        self.responses = {}
        self.agents = [0, 0, 0]

    def edit(self, path, added, removed):
        entry = self.files.setdefault(path, [0, 0, 0])
        entry[0] += added
        entry[1] += removed
        entry[2] += 1

    def result(self):
        total = [sum(file[k] for file in self.files.values()) + self.agents[k] for k in range(3)]
        tokens = {kind: sum(one[kind] for one in self.responses.values()) for kind in KINDS}
        commands = {kind: self.commands[kind] for kind in ("failed", "refused", "background", "unknown")}
        commands["run"] = sum(count for kind, count in self.commands.items() if kind != "refused")
        return {"files": self.files, "added": total[0], "removed": total[1], "edits": total[2],
                "commands": commands, "responses": len(self.responses), "tokens": tokens,
                "atLeast": any(one["atLeast"] for one in self.responses.values())}


class Count:
    def __init__(self):
        self.tasks = {}      # key -> Figures
        self.names = {}      # key -> contents
        self.now = {}        # key -> status
        self.outside, self.whole = Figures(), Figures()

    def moment(self):
        return [key for key, status in self.now.items() if status == "in_progress"]

    def parts(self, moment):
        keys = moment
        return [self.whole] + [self.tasks.setdefault(key, Figures()) for key in keys] + ([] if keys else [self.outside])

    def set_list(self, items):
        """Each item is (content, status); its content is its key."""
        self.now = {}
        for content, status in items:
            content = " ".join(content.split())
            self.names.setdefault(content, {content})
            if self.now.get(content) != "in_progress":
                self.now[content] = status

    def print(self):
        tasks = [{"names": sorted(self.names[key]), "figures": self.tasks[key].result()} for key in self.tasks]
        print(json.dumps({"tasks": tasks, "outside": self.outside.result(), "whole": self.whole.result()}))


# Claude Code

def claude_usage(message):
    usage = message.get("usage") or {}
    return {"input": usage.get("input_tokens") or 0, "output": usage.get("output_tokens") or 0,
            "cacheRead": usage.get("cache_read_input_tokens") or 0,
            "cacheWrite": usage.get("cache_creation_input_tokens") or 0}


def text_of(content):
    if isinstance(content, list):
        return "\n".join(block.get("text", "") for block in content if isinstance(block, dict))
    return content or ""


def claude_edit(name, given, result):
    """The lines that a successful call added and removed."""
    patch = result.get("structuredPatch") if isinstance(result, dict) else None
    if name == "Write":
        if isinstance(result, dict) and result.get("type") == "update" and patch is not None:
            pass
        else:
            return line_count(given.get("content", "")), 0
    if patch is not None:
        lines = [line for hunk in patch for line in hunk["lines"]]
        return sum(line[:1] == "+" for line in lines), sum(line[:1] == "-" for line in lines)
    edits = given.get("edits") or [given]
    counts = [difference(edit.get("old_string", ""), edit.get("new_string", "")) for edit in edits]
    return sum(one[0] for one in counts), sum(one[1] for one in counts)


def claude_outcome(block, text, result):
    if block.get("is_error"):
        if re.match(r"Exit code \d+", text):
            return "failed"
        if isinstance(result, dict) and result.get("interrupted"):
            return "failed"
        if re.match(r"The user doesn't want to|<tool_use_error>|Permission", text):
            return "refused"
        return "refused" if VERSION >= 2 else "failed"
    if isinstance(result, dict) and result.get("backgroundTaskId"):
        return "background"
    if isinstance(result, dict) and result.get("interrupted"):
        return "failed"
    return "ok"


VERSION = 2


class Claude(Count):
    def __init__(self, path):
        super().__init__()
        self.calls = {}        # id -> (name, input)
        self.call_moments = {}
        self.seen = set()
        self.stopped = set()
        self.moments = {}      # response -> parts
        self.prompts = {}      # prompt of a subagent -> call
        self.agent_calls = {}  # agent id -> call
        self.chains = {}       # uuid -> moment of the inline subagent
        self.agent_results = []
        self.path = path
        for line in open(path, encoding="utf-8", errors="replace"):
            self.line(line, None)
        self.subagents()

    def line(self, text, agent):
        global VERSION
        try:
            line = json.loads(text)
        except ValueError:
            return
        if not isinstance(line, dict) or line.get("type") not in ("user", "assistant"):
            return
        if line.get("version"):
            VERSION = int(line["version"].split(".")[0])
        uuid = line.get("uuid")
        if uuid in self.seen:
            return
        self.seen.add(uuid)
        message = line.get("message") or {}
        content = message.get("content")
        moment = self.moment() if agent is None else agent
        if agent is None and line.get("isSidechain"):
            moment = self.inline(line, content)
        blocks = content if isinstance(content, list) else []
        if line["type"] == "assistant":
            self.response(line, message, moment)
            for block in blocks:
                if block.get("type") == "tool_use" and block["id"] not in self.calls:
                    self.calls[block["id"]] = (block["name"], block.get("input") or {})
                    self.call_moments[block["id"]] = moment
                    if block["name"] in ("Task", "Agent"):
                        self.prompts.setdefault((block.get("input") or {}).get("prompt", "").strip(), block["id"])
        else:
            results = [block for block in blocks if block.get("type") == "tool_result"]
            for block in results:
                result = line.get("toolUseResult") if len(results) == 1 else None
                self.tool_result(block, result, moment, line.get("isSidechain") or agent is not None)

    def inline(self, line, content):
        parent = line.get("parentUuid")
        moment = self.chains.get(parent)
        if moment is None:
            call = self.prompts.get(text_of(content).strip() if not isinstance(content, str) else content.strip())
            moment = self.call_moments.get(call, self.moment())
        self.chains[line.get("uuid")] = moment
        return moment

    def response(self, line, message, moment):
        if message.get("model") == "<synthetic>" or not message.get("usage"):
            return
        usage = claude_usage(message)
        key = (message.get("id"), line.get("requestId"))
        if message.get("stop_reason"):
            self.stopped.add(key)
        parts = self.moments.setdefault(key, self.parts(moment))
        for part in parts:
            old = part.responses.get(key)
            if sum(usage.values()) and (old is None or sum(old[k] for k in KINDS) < sum(usage.values())):
                part.responses[key] = dict(usage)
            if key in part.responses:
                part.responses[key]["atLeast"] = key not in self.stopped

    def tool_result(self, block, result, moment, is_agent):
        key = block.get("tool_use_id")
        if ("result", key) in self.seen or key not in self.calls:
            return
        self.seen.add(("result", key))
        name, given = self.calls[key]
        text = text_of(block.get("content"))
        is_error = bool(block.get("is_error"))
        parts = self.parts(moment)
        if name in SHELL_CLAUDE:
            for part in parts:
                part.commands[claude_outcome(block, text, result)] += 1
        elif name in ("Edit", "MultiEdit", "Write") and not is_error:
            added, removed = claude_edit(name, given, result)
            for part in parts:
                part.edit(given.get("file_path"), added, removed)
        elif name in ("Task", "Agent") and isinstance(result, dict) and result.get("agentId"):
            self.agent_calls[result["agentId"]] = key
            self.agent_results.append((key, result))
        elif not is_agent or name == "TodoWrite":
            self.plan(name, given, text, result, is_error, is_agent)

    def plan(self, name, given, text, result, is_error, is_agent):
        fields = result if isinstance(result, dict) else {}
        if name == "TodoWrite" and not is_error and not is_agent:
            todos = fields.get("newTodos") or given.get("todos") or []
            self.set_list([(todo["content"], todo["status"]) for todo in todos])
        elif name == "TaskCreate" and not is_error:
            task = fields.get("task") or {}
            number = str(task.get("id") or re.search(r"#(\d+)", text).group(1))
            # Numbers begin again after the list is emptied.
            while self.now.get(number) == "completed" and number in self.now:
                number += "'"
            self.now[number] = "pending"
            self.names.setdefault(number, set()).add(task.get("subject") or given.get("subject"))
        elif name == "TaskUpdate" and text == "Task not found":
            # The list was emptied meanwhile, which leaves no line.
            self.now.pop(str(given.get("taskId")), None)
        elif name == "TaskUpdate" and not is_error and fields.get("success") is not False:
            number = str(given.get("taskId"))
            if number not in self.now:
                return
            status = (fields.get("statusChange") or {}).get("to") or given.get("status")
            if status == "deleted":
                del self.now[number]
            elif status:
                self.now[number] = status
            if given.get("subject"):
                self.names[number].add(given["subject"])

    def subagents(self):
        stem = os.path.splitext(self.path)[0]
        session = os.path.basename(stem)
        files = glob.glob(stem + "/subagents/agent-*.jsonl") + glob.glob(os.path.dirname(self.path) + "/agent-*.jsonl")
        found = set()
        for file in sorted(files):
            agent = os.path.basename(file)[len("agent-"):-len(".jsonl")]
            lines = open(file, encoding="utf-8", errors="replace").read().split("\n")
            if session not in lines[0]:
                continue
            found.add(agent)
            meta = os.path.splitext(file)[0] + ".meta.json"
            call = json.load(open(meta)).get("toolUseId") if os.path.exists(meta) else None
            call = call or self.agent_calls.get(agent)
            moment = self.call_moments.get(call, self.moment())
            for line in lines:
                self.line(line, moment)
        for call, result in self.agent_results:
            stats = result.get("toolStats")
            if stats and result["agentId"] not in found and not self.chains:
                for part in self.parts(self.call_moments.get(call, [])):
                    for place, kind in enumerate(("linesAdded", "linesRemoved", "editFileCount")):
                        part.agents[place] += stats.get(kind) or 0


# Codex

class Codex(Count):
    def __init__(self, path):
        super().__init__()
        self.calls, self.seen = {}, set()
        self.total = None
        self.begun = None      # the moment of the response that has no tokens yet
        self.own = None        # the session's id; a fork begins at its own turns
        self.is_own = True
        self.exec_items = set()
        self.folder = ""
        self.serial = 0
        for line in open(path, encoding="utf-8", errors="replace"):
            self.line(line)

    def line(self, text):
        # Some lines hold two objects.
        while text.strip():
            try:
                line, end = json.JSONDecoder().raw_decode(text)
            except ValueError:
                return
            self.value(line)
            text = text[end:].lstrip()

    def value(self, line):
        payload = line.get("payload") or {}
        kind = payload.get("type")
        if line.get("type") == "session_meta" and self.own is None:
            self.own = payload.get("id")
            self.folder = payload.get("cwd") or ""
            self.is_own = not payload.get("forked_from_id")
        turn = payload.get("turn_id")
        if not self.is_own and turn and turn >= self.own:
            self.is_own = True
        if line.get("type") == "token_usage_record":
            self.record(payload)
        if line.get("type") == "response_item":
            self.item(kind, payload)
        elif line.get("type") == "event_msg":
            self.event(kind, payload)

    def item(self, kind, payload):
        call = payload.get("call_id")
        if kind in ("reasoning", "function_call", "custom_tool_call", "local_shell_call") or (
                kind == "message" and payload.get("role") == "assistant"):
            if self.begun is None:
                self.begun = self.moment()
        if kind in ("function_call", "custom_tool_call"):
            self.calls.setdefault(call, (payload.get("name"), payload.get("arguments") or payload.get("input") or ""))
        elif kind in ("function_call_output", "custom_tool_call_output"):
            if ("output", call) in self.seen or call not in self.calls:
                return
            self.seen.add(("output", call))
            self.output(call, text_of(payload.get("output")))

    def output(self, call, text):
        name, given = self.calls[call]
        if name in SHELL_CODEX and self.is_own and ("command", call) not in self.seen:
            self.seen.add(("command", call))
            self.command(codex_outcome(text))
        elif name == "exec" and self.is_own and "exec_command(" in given and not self.exec_items:
            self.command("unknown")
        if name == "exec":
            self.exec_items = set()
        if name == "update_plan" and text == "Plan updated":
            plan = json.loads(given).get("plan")
            self.set_list([(step["step"], step["status"]) for step in plan])
        elif name == "exec" and "update_plan" in given and text.startswith("Script completed"):
            steps = re.search(r"update_plan\(\s*(\{.*?\]\s*,?\s*\})\s*\)", given, re.S)
            pairs = re.findall(r"""["']?step["']?\s*:\s*(["'`])(.*?)\1\s*,\s*["']?status["']?\s*:\s*["'`](\w+)""",
                               steps.group(1) if steps else "", re.S)
            if pairs:
                self.set_list([(step, status) for _, step, status in pairs])

    def command(self, outcome):
        for part in self.parts(self.moment()):
            part.commands[outcome] += 1

    def event(self, kind, payload):
        if kind == "patch_apply_end" and payload.get("success") and self.is_own:
            self.changes(payload["call_id"], payload.get("changes") or {})
        elif kind == "item_completed":
            item = payload.get("item") or {}
            if item.get("type") == "FileChange" and item.get("status") == "completed" and self.is_own:
                self.changes(item.get("id"), item.get("changes") or {})
            elif item.get("type") == "CommandExecution" and self.is_own:
                self.execution(item)
        elif kind == "token_count" and payload.get("info"):
            self.tokens(payload["info"])

    def execution(self, item):
        key = item.get("id")
        if ("command", key) in self.seen:
            return
        self.seen.add(("command", key))
        self.exec_items.add(key)
        status, code = item.get("status"), item.get("exit_code")
        self.command("refused" if status == "declined" else "ok" if code == 0 else
                     "failed" if code is not None or status == "failed" else "unknown")

    def changes(self, call, changes):
        if ("changes", call) in self.seen:
            return
        self.seen.add(("changes", call))
        parts = self.parts(self.moment())
        for path, change in changes.items():
            content = line_count(change.get("content") or "")
            added, removed = (content, 0) if change["type"] == "add" else (0, content)
            moved = change.get("move_path")
            if change["type"] == "update":
                lines = change.get("unified_diff", "").split("\n")
                added = sum(line[:1] == "+" for line in lines)
                removed = sum(line[:1] == "-" for line in lines)
            for part in parts:
                part.edit(os.path.join(self.folder, moved or path), added, removed)
                if moved:
                    part.edit(os.path.join(self.folder, path), 0, 0)

    def tokens(self, info):
        total = info.get("total_token_usage")
        if not total or total == self.total:
            return
        old, self.total = self.total or {}, total
        one = {key: total.get(key, 0) - old.get(key, 0) for key in total}
        self.add_tokens(one)

    def record(self, payload):
        # The count that follows repeats this total.
        self.total = payload.get("thread_token_usage")
        self.add_tokens(payload["usage"])

    def add_tokens(self, one):
        moment, self.begun = self.begun if self.begun is not None else self.moment(), None
        if not self.is_own:
            return
        cached, written = one.get("cached_input_tokens", 0), one.get("cache_write_input_tokens", 0)
        self.serial += 1
        for part in self.parts(moment):
            part.responses[self.serial] = {
                "input": one.get("input_tokens", 0) - cached - written, "output": one.get("output_tokens", 0),
                "cacheRead": cached, "cacheWrite": written, "atLeast": False}


def codex_outcome(text):
    head = text.split("Output:")[0]
    found = re.search(r"(?:Process exited with code|Exit code:) (-?\d+)", head)
    if found:
        return "ok" if found.group(1) == "0" else "failed"
    if "Process running with session ID" in head:
        return "background"
    found = re.match(r'\s*\{"output":.*"exit_code":(-?\d+)', text, re.S)
    if found:
        return "ok" if found.group(1) == "0" else "failed"
    if re.search(r"aborted by user|rejected by user|Rejected\(", text):
        return "refused"
    return "unknown"


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8", errors="replace") as file:
        first = file.readline()
    (Codex if '"session_meta"' in first[:200] else Claude)(sys.argv[1]).print()
