// Runs the plugin for opencode as opencode does, without opencode:
//
//   node opencode-host.mjs PLUGIN
//
// Each line of the input is a JSON object: {"hook", "arguments"} calls a hook of the plugin, {"answer"} sets what
// opencode answers to all requests from then on, and {"client": false} takes opencode's client away. Each line of
// the output says what the plugin asked of opencode, or how long the hook took and what it left in its arguments.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const say = (line) => console.log(JSON.stringify(line));
let answer = { data: true };
function asked(what) {
  return async (given) => {
    say({ asked: what, given });
    if (answer === null) throw new Error("no");
    return answer;
  };
}
const client = {
  _client: { post: asked("post") },
  session: { get: asked("get"), prompt: asked("prompt") },
};
for (const name of ["uncaughtException", "unhandledRejection"])
  process.on(name, (error) => say({ escaped: String(error?.stack ?? error) }));

const module = await import(pathToFileURL(process.argv[2]));
const hooks = await Object.values(module)[0]({ client, directory: process.cwd() });
say({ hooks: Object.keys(hooks), exports: Object.keys(module) });
for await (const line of createInterface({ input: process.stdin })) {
  const { hook, arguments: given, answer: next, client: kept } = JSON.parse(line);
  if (next !== undefined) answer = next;
  if (kept === false) for (const key of Object.keys(client)) delete client[key];
  if (!hook) continue;
  const begun = performance.now();
  await hooks[hook]?.(...given);
  say({ hook, milliseconds: performance.now() - begun, given });
}
// Nothing of the plugin keeps the process alive.
