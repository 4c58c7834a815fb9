// A scripted model for Codex with OpenAI's Responses API. Codex's MCP tools have a
// namespace, which aimock does not support.
//
//   node responses.mjs PORT SCRIPT
//
// SCRIPT is a JSON list; step N answers the request that has N outputs and answers. A step
// is {"text"}, {"name", "namespace", "arguments"} or, for a tool that takes no JSON, {"name",
// "input"}. It may have "needs": text that the last output must contain, and "find": a regexp
// whose first group, of what it matches in the outputs, replaces FOUND in the arguments. SCRIPT
// may be an object of two lists, "main" and "subagent": the second is for conversations in
// which the user or another agent says SUBAGENT.
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
const [port, script] = process.argv.slice(2);
const scripted = JSON.parse(readFileSync(script, "utf8"));

function item(step, number) {
  if (step.text)
    return { type: "message", role: "assistant", id: `msg_${number}`, content: [{ type: "output_text", text: step.text }] };
  if (step.input)
    return { type: "custom_tool_call", id: `ctc_${number}`, call_id: `call_${number}`, ...step };
  return { type: "function_call", id: `fc_${number}`, call_id: `call_${number}`, ...step,
           arguments: JSON.stringify(step.arguments) };
}

let number = 0;
createServer(async (request, response) => {
  let body = "";
  for await (const part of request) body += part;
  if (request.method !== "POST" || !request.url.endsWith("/responses")) {
    response.writeHead(request.url === "/health" ? 200 : 404).end('{"ok": true}');
    return;
  }
  const { input } = JSON.parse(body);
  const said = JSON.stringify(input.filter(({ role, type }) => role === "user" || type === "agent_message"));
  const steps = scripted.main ? scripted[said.includes("SUBAGENT") ? "subagent" : "main"] : scripted;
  const outputs = input.filter(
    ({ type = "", role }) => type.endsWith("_call_output") || role === "assistant");
  const { needs = "", find, ...step } = steps[outputs.length];
  if (find) {
    const found = JSON.stringify(outputs).match(find)?.[1];
    step.arguments = JSON.parse(JSON.stringify(step.arguments).replaceAll("FOUND", found));
  }
  const isMet = JSON.stringify(outputs.at(-1) ?? "").includes(needs);
  const output = item(isMet ? step : { text: `I expected ${needs}.` }, ++number);
  const head = { id: `resp_${number}`, usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 } };
  const events = {
    "response.created": { response: head },
    "response.output_item.added": { output_index: 0, item: output },
    "response.output_item.done": { output_index: 0, item: output },
    "response.completed": { response: head },
  };
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const [type, event] of Object.entries(events)) {
    response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...event })}\n\n`);
  }
  response.end();
}).listen(Number(port), "127.0.0.1");
