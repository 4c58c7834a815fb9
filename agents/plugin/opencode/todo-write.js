// The plugin of todo-write for opencode, version @VERSION@.
//
// `todo-write-mcp setup opencode` writes this file, replaces an older version, and deletes it.
//
// It tells the user's Emacs what opencode's sessions do, their todos, and what they ask, and passes the user's
// answers and edits back. Without an Emacs that listens, it does nothing. Nothing here throws into opencode or
// keeps it waiting. doc/protocol.md describes the socket.
import { randomBytes } from "node:crypto";
import { lstatSync, readlinkSync } from "node:fs";
import { createConnection } from "node:net";

const VERSION = "@VERSION@";
// The file of the socket; if it is empty, the usual one.
const SOCKET = "@SOCKET@";

const PROTOCOL = 2;
// Bounds: of a line in bytes, of what Emacs has not read, of sessions, of open questions and those that Emacs shows
// at once, of calls whose input is kept, of todos, and of texts that opencode has not taken.
const LARGEST = 1 << 20;
const UNREAD = 4 << 20;
const SESSIONS = 256;
const QUESTIONS = 64;
const SHOWN = 8;
const INPUTS = 64;
const TODOS = 1000;
const UNTOLD = 16;
// Milliseconds: between attempts to connect, and until Emacs must say something.
const PAUSE = 1000;
const PATIENCE = 5000;

// The socket

function isPrivate(path, kind) {
  try {
    const data = lstatSync(path);
    return data[kind]() && data.uid === process.geteuid() && (data.mode & 0o077) === 0;
  } catch {
    return false;
  }
}

function place() {
  if (SOCKET) return SOCKET;
  if (process.env.TODO_WRITE_SANDBOX) return `${process.env.TODO_WRITE_SANDBOX}/socket`;
  const user = process.geteuid();
  const run = `/run/user/${user}`;
  return isPrivate(run, "isDirectory") ? `${run}/todo-write/socket` : `/tmp/todo-write-${user}/socket`;
}

// The socket, if only this user can have made it.
function door() {
  const file = place();
  const isSafe =
    Buffer.byteLength(file) < 100 &&
    isPrivate(file.slice(0, file.lastIndexOf("/")) || "/", "isDirectory") &&
    isPrivate(file, "isSocket");
  return isSafe ? file : undefined;
}

function later(milliseconds, action) {
  const timer = setTimeout(action, milliseconds);
  timer.unref?.();
  return timer;
}

// The connection to Emacs. It connects again whenever it breaks, and calls `on.open` when Emacs is there and
// `on.tell` when that has something to tell a session.
class Link {
  #hello;
  #on;
  #socket;
  #isOpen = false;
  #isClosed = false;
  #timer;
  #calls = new Map();
  #number = 0;

  constructor(hello, on) {
    this.#hello = hello;
    this.#on = on;
    this.#connect();
  }

  #connect() {
    if (this.#isClosed) return;
    const file = door();
    if (!file) return this.#again();
    const socket = createConnection({ path: file });
    socket.unref?.();
    this.#socket = socket;
    let text = "";
    const mute = later(PATIENCE, () => socket.destroy());
    socket.setEncoding("utf8");
    socket.on("connect", () => this.#write({ type: "hello", ...this.#hello }));
    socket.on("data", (piece) => {
      text += piece;
      const lines = text.split("\n");
      text = lines.pop();
      if (text.length > LARGEST) socket.destroy();
      for (const line of lines) {
        clearTimeout(mute);
        try {
          this.#take(line);
        } catch {
          socket.destroy();
        }
      }
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      clearTimeout(mute);
      if (this.#socket !== socket) return;
      this.#isOpen = false;
      this.#socket = undefined;
      for (const done of this.#calls.values()) done(undefined);
      this.#calls.clear();
      this.#again();
    });
  }

  #again() {
    if (this.#isClosed) return;
    clearTimeout(this.#timer);
    this.#timer = later(PAUSE, () => this.#connect());
  }

  #take(line) {
    const message = JSON.parse(line);
    if (message?.type === "welcome" && message.protocol === PROTOCOL) {
      this.#isOpen = true;
      this.#on.open();
    } else if (message?.type === "answer") {
      const done = this.#calls.get(message.call);
      this.#calls.delete(message.call);
      done?.(message);
    } else if (message?.type === "tell" && typeof message.session === "string") {
      this.#on.tell(message.session);
    }
  }

  // Returns whether the message was sent.
  #write(message) {
    const line = JSON.stringify(message) + "\n";
    if (Buffer.byteLength(line) > LARGEST) return false;
    this.#socket?.write(line);
    if (this.#socket?.writableLength > UNREAD) this.#socket.destroy();
    return true;
  }

  tell(message) {
    if (this.#isOpen) this.#write(message);
  }

  // Returns the number of a call, 0 if it is not sent. `done` gets its answer, or nothing if there will be none.
  // It has no limit: Emacs says most things once, and may be busy.
  call(fields, done) {
    if (!this.#isOpen) return 0;
    const number = ++this.#number;
    if (!this.#write({ type: "call", call: number, source: "event", ...fields })) return 0;
    this.#calls.set(number, done);
    return number;
  }

  cancel(number) {
    if (this.#calls.delete(number)) this.tell({ type: "cancel", call: number });
  }

  close() {
    if (this.#isClosed) return;
    this.tell({ type: "bye" });
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#socket?.end();
  }
}

// The sessions

// Sets a key of a map that keeps at most so many, the latest.
function keep(map, key, value, most) {
  map.delete(key);
  map.set(key, value);
  if (map.size > most) map.delete(map.keys().next().value);
}

class Reporter {
  #client;
  #link;
  #sessions = new Map();
  // Open permissions and questions of opencode.
  #questions = new Map();
  // What tools are called with, for the detail of a permission.
  #inputs = new Map();

  constructor(client, hello) {
    this.#client = client;
    this.#link = new Link(hello, {
      open: () => this.#repeat(),
      tell: (session) => this.#pass(session),
    });
  }

  close() {
    this.#link.close();
  }

  async event({ type, properties }) {
    const id = properties?.sessionID ?? properties?.info?.id;
    if (typeof id !== "string") return;
    if (type === "session.created" || type === "session.updated") return this.#know(properties.info);
    const session = await this.#session(id);
    switch (type) {
      case "session.deleted":
        return this.#deleted(session);
      case "session.status":
        return this.#status(session, properties.status);
      case "session.error":
        return this.#error(session, properties.error);
      case "todo.updated":
        return this.#todos(session, properties.todos);
      case "permission.asked":
      case "question.asked":
        return this.#asked(session, type, properties);
      case "permission.replied":
      case "question.replied":
      case "question.rejected":
        return this.#replied(properties.requestID);
    }
  }

  // A session by its id. One that began before this plugin is looked up once, and its events wait for that in their
  // order.
  async #session(id) {
    if (!this.#sessions.has(id)) {
      this.#know({ id });
      this.#sessions.get(id).known = this.#look(id).catch(() => {});
    }
    await this.#sessions.get(id).known;
    return this.#sessions.get(id) ?? { id, open: 0 };
  }

  async #look(id) {
    const found = this.#client.session.get({ path: { id } }).catch(() => undefined);
    const answer = await Promise.race([found, new Promise((done) => later(PATIENCE, done))]);
    if (answer?.data?.id !== id) return;
    // An event may have told a later title.
    const title = this.#sessions.get(id)?.title ?? answer.data.title;
    this.#know({ ...answer.data, title });
  }

  #know({ id, parentID, title }) {
    const session = this.#sessions.get(id) ?? { id, open: 0 };
    if (parentID) session.parent = parentID;
    if (title && !/^(New|Child) session - /.test(title) && title !== session.title) {
      session.title = title;
      if (session.activity) this.#report(session, session.activity, session.reason);
    }
    keep(this.#sessions, id, session, SESSIONS);
  }

  // The fields by which Emacs knows a session: that of the user, and the subagent in it.
  #names(session) {
    let root = session;
    for (let depth = 0; root.parent && depth < 8; depth++) root = this.#sessions.get(root.parent) ?? { id: root.parent };
    if (root === session) return { session: session.id };
    return { session: root.id, subagent: session.id, task: session.title?.slice(0, 200) };
  }

  #report(session, activity, reason) {
    Object.assign(session, { activity, reason });
    const { task, ...names } = this.#names(session);
    // Of a subagent, only its end is wanted.
    if (names.subagent && activity !== "idle") return;
    this.#link.tell({ type: "activity", ...names, activity, reason, title: session.title?.slice(0, 200) });
  }

  // Tells Emacs, which may be another one than before, what it does not know.
  #repeat() {
    for (const session of this.#sessions.values()) {
      if (session.todos) this.#todos(session, session.todos);
      if (session.activity) this.#report(session, session.activity, session.reason);
      this.#pass(session.id);
    }
    for (const question of this.#questions.values()) question.isSent = question.isOver = false;
    this.#show();
  }

  // What they do

  #status(session, status) {
    if (status?.type === "busy") return this.#become(session, "working");
    if (status?.type === "retry")
      return this.#become(session, "working", `attempt ${status.attempt}: ${status.message}`.slice(0, 200));
    if (status?.type !== "idle") return;
    this.#end(session);
    // What failed is told with its reason.
    if (session.activity !== "failed") this.#become(session, "idle");
  }

  #error(session, error) {
    this.#end(session);
    if (error?.name === "MessageAbortedError") return this.#become(session, "idle");
    this.#become(session, "failed", String(error?.data?.message ?? error?.name ?? "an error").slice(0, 200));
  }

  // opencode says the same again at each step.
  #become(session, activity, reason) {
    session.doing = { activity, reason };
    if (session.open && activity === "working") return;
    if (session.activity !== activity || session.reason !== reason) this.#report(session, activity, reason);
  }

  // The end of a turn ends its questions.
  #end(session) {
    for (const question of this.#questions.values())
      if (question.session.id === session.id) this.#replied(question.asked.id);
  }

  #deleted(session) {
    session.doing = { activity: "idle" };
    this.#end(session);
    this.#sessions.delete(session.id);
  }

  // Their plans

  #todos(session, todos) {
    if (!Array.isArray(todos)) return;
    session.todos = todos.slice(0, TODOS);
    const list = session.todos.map(({ content, status, priority }) => ({ content, status, priority, activeForm: content }));
    const told = session.todos;
    this.#link.call(
      { role: "plan", ...this.#names(session), arguments: { todos: list } },
      (answer) => {
        // Emacs has it in its journal, or never takes it.
        if (answer && session.todos === told) session.todos = undefined;
      },
    );
  }

  // What they ask

  #asked(session, type, properties) {
    const { id } = properties;
    if (typeof id !== "string" || this.#questions.has(id) || this.#questions.size >= QUESTIONS) return;
    // Other calls may come before Emacs can show it.
    const call = this.#inputs.get(properties.tool?.callID);
    this.#questions.set(id, { session, type, asked: properties, call, number: 0, isSent: false, isOver: false });
    session.open++;
    // The main session is the one that the user sees.
    this.#report(session, "waiting", type === "question.asked" ? "a question" : `permission: ${properties.permission}`);
    this.#show();
  }

  // Sends the oldest questions to Emacs, as many as it may show at once; the next when one of them has ended.
  #show() {
    const open = [...this.#questions.values()].filter(({ isOver }) => !isOver);
    for (const question of open.slice(0, SHOWN)) if (!question.isSent) question.isSent = this.#ask(question);
  }

  // Returns whether it could be sent.
  #ask(question) {
    const { session, type, asked, call } = question;
    const fields = { role: "permission", ...this.#names(session) };
    const agent = fields.subagent ? { agent_id: fields.subagent, agent_type: fields.task ?? "" } : {};
    const name = { hook_event_name: type, ...agent };
    const done = (answer) => {
      question.isOver = true;
      this.#answered(question, answer).catch(() => {});
      if (answer) this.#show();
    };
    question.number =
      this.#link.call({ ...fields, arguments: { ...asked, ...name, tool: call?.tool, input: call?.input } }, done) ||
      // It is too large to be shown.
      this.#link.call({ ...fields, arguments: { ...name, permission: asked.permission, isTooLarge: true } }, done);
    return question.number > 0;
  }

  async #answered({ session, type, asked }, answer) {
    const decision = answer?.ok && answer.decision;
    if (!["allow", "deny"].includes(decision?.behavior) || !this.#questions.has(asked.id)) return;
    const isAllowed = decision.behavior === "allow";
    if (type === "permission.asked") {
      const reply = !isAllowed ? "reject" : decision.suggestion === undefined ? "once" : "always";
      const message = !isAllowed && decision.message ? { message: decision.message } : {};
      await this.#post(`/permission/${asked.id}/reply`, { reply, ...message });
    } else if (isAllowed) {
      const answers = asked.questions.map(({ question }) => decision.answers?.[question]);
      if (answers.every(Array.isArray)) await this.#post(`/question/${asked.id}/reply`, { answers });
    } else {
      await this.#post(`/question/${asked.id}/reject`, {});
    }
  }

  #post(url, body) {
    return this.#client._client.post({ url, body, headers: { "content-type": "application/json" } });
  }

  #replied(id) {
    const question = this.#questions.get(id);
    if (!question) return;
    const { session } = question;
    this.#questions.delete(id);
    this.#link.cancel(question.number);
    this.#show();
    if (--session.open || session.activity !== "waiting") return;
    const { activity = "working", reason } = session.doing ?? {};
    this.#report(session, activity, reason);
  }

  // What they are told

  // Asks Emacs what the user did, and tells the model without beginning a turn.
  async #pass(id) {
    const session = this.#sessions.get(id);
    // Without its agent and model, the message would change those of the session.
    if (!session?.user || session.parent) return;
    session.isWanted = true;
    if (session.isAsking) return;
    session.isAsking = true;
    try {
      while (session.isWanted) {
        session.isWanted = false;
        const fields = { role: "note", session: id, arguments: { event: "Tell" } };
        const answer = await new Promise((done) => this.#link.call(fields, done) || done(undefined));
        // What opencode does not take is kept until the next time.
        if (answer?.ok && typeof answer.text === "string" && answer.text)
          session.untold = [...(session.untold ?? []), answer.text].slice(-UNTOLD);
        if (!session.untold?.length) continue;
        const parts = [{ type: "text", text: session.untold.join("\n\n"), synthetic: true }];
        const taken = await this.#client.session.prompt({ path: { id }, body: { noReply: true, ...session.user, parts } });
        if (taken?.error === undefined) session.untold = undefined;
      }
    } catch {
      // The session may be gone.
    } finally {
      session.isAsking = false;
    }
  }

  async said({ sessionID }, { message }) {
    const session = await this.#session(sessionID);
    const { agent, model } = message ?? {};
    if (!agent || !model) return;
    const isNew = !session.user;
    session.user = { agent, model: { providerID: model.providerID, modelID: model.modelID } };
    if (isNew) this.#pass(sessionID);
  }

  // Their calls

  before({ tool, callID }, { args }) {
    keep(this.#inputs, callID, { tool, input: args }, INPUTS);
  }

  after({ callID }) {
    this.#inputs.delete(callID);
  }
}

export const TodoWrite = async ({ client, directory }) => {
  // Nothing of this may disturb opencode.
  const quietly =
    (action) =>
    async (...given) => {
      try {
        await action(...given);
      } catch {}
    };
  try {
    if (process.platform === "win32") return {};
    let pidDomain;
    try {
      pidDomain = readlinkSync("/proc/self/ns/pid");
    } catch {}
    const reporter = new Reporter(client, {
      protocol: PROTOCOL,
      roles: ["plan", "permission", "note"],
      id: randomBytes(16).toString("hex"),
      version: VERSION,
      client: "opencode",
      project: directory,
      process: process.pid,
      pidDomain,
      started: Math.round(Date.now() - process.uptime() * 1000),
    });
    const close = () => reporter.close();
    process.once("exit", close);
    const take = quietly((event) => reporter.event(event));
    return {
      // opencode does not wait.
      event: async ({ event }) => void take(event),
      "chat.message": quietly((input, output) => void reporter.said(input, output).catch(() => {})),
      "tool.execute.before": quietly((input, output) => reporter.before(input, output)),
      "tool.execute.after": quietly((input) => reporter.after(input)),
      dispose: quietly(() => {
        process.off("exit", close);
        close();
      }),
    };
  } catch {
    return {};
  }
};
