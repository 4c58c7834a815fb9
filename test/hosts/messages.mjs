// A scripted model for Claude Code with Anthropic's Messages API. It also serves the safety check of
// auto mode, which aimock does not support.
//
//   node messages.mjs PORT SCRIPT
//
// SCRIPT is a JSON list; step N answers the request that has N messages of the model. A step is
// {"text"} or {"name", "input"}: a call, which the check allows. With "verdict", the check refuses
// the call for that reason or, if it is null, gives no answer.
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
const [port, script] = process.argv.slice(2);
const steps = JSON.parse(readFileSync(script, "utf8"));

function block(step, id) {
  if (step.text) return { start: { type: "text", text: "" }, delta: { type: "text_delta", text: step.text } };
  return {
    start: { type: "tool_use", id, name: step.name, input: {} },
    delta: { type: "input_json_delta", partial_json: JSON.stringify(step.input) },
  };
}

function checked(step, id) {
  if (!step.name || step.verdict === null) return {};
  const verdict = step.verdict
    ? { type: "evaluated", outcome: "flagged", explanation: step.verdict }
    : { type: "evaluated", outcome: "not_flagged" };
  const status = { type: "available", tool_uses: { [id]: verdict } };
  return { safeguard_results: [{ type: "dangerous_tool_use", status }] };
}

let number = 0;
createServer(async (request, response) => {
  let body = "";
  for await (const part of request) body += part;
  if (request.method !== "POST" || !request.url.includes("/messages")) {
    response.writeHead(request.url === "/health" ? 200 : 404).end('{"ok": true}');
    return;
  }
  const { messages = [], tools = [], model, stream, safeguards } = JSON.parse(body);
  if (request.url.includes("count_tokens")) {
    response.writeHead(200, { "content-type": "application/json" }).end('{"input_tokens": 10}');
    return;
  }
  const turn = messages.filter(({ role }) => role === "assistant").length;
  // Titles are asked for without tools.
  const step = (tools.length > 0 && steps[turn]) || { text: "Garden" };
  const id = `toolu_${++number}`;
  const { start, delta } = block(step, id);
  const stop_reason = step.name ? "tool_use" : "end_turn";
  const usage = { input_tokens: 10, output_tokens: 5 };
  const head = { id: `msg_${number}`, type: "message", role: "assistant", model, content: [], stop_reason: null, stop_sequence: null, usage };
  if (!stream) {
    const content = [step.text ? { type: "text", text: step.text } : { ...start, input: step.input }];
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ ...head, content, stop_reason }));
    return;
  }
  const end = { stop_reason, stop_sequence: null, ...(safeguards ? checked(step, id) : {}) };
  const events = [
    { type: "message_start", message: head },
    { type: "content_block_start", index: 0, content_block: start },
    { type: "content_block_delta", index: 0, delta },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: end, usage: { output_tokens: 5 } },
    { type: "message_stop" },
  ];
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const event of events) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  response.end();
}).listen(Number(port), "127.0.0.1");
