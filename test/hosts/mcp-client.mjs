// The real MCP client of @modelcontextprotocol/sdk, told what to do line by line:
//
//   node client.mjs SDK NAME VERSION ROOT PROGRAM [OPTION]...
//
// SDK is the folder of the package; NAME and VERSION are the client's, ROOT is its
// one root, or "" for none. Each line of stdin is a request as JSON, {"method", "params"};
// its result, or {"error": text}, is a line of stdout. End of input closes the session.
import { createInterface } from "node:readline";
const [sdk, name, version, root, command, ...args] = process.argv.slice(2);
const { Client } = await import(`${sdk}/dist/esm/client/index.js`);
const { StdioClientTransport } = await import(`${sdk}/dist/esm/client/stdio.js`);
const { ListRootsRequestSchema, ResultSchema } = await import(`${sdk}/dist/esm/types.js`);

const client = new Client({ name, version }, { capabilities: root ? { roots: {} } : {} });
if (root) {
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: root, name: "root" }] }));
}
await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: "inherit" }));
console.log(JSON.stringify({ server: client.getServerVersion(), instructions: client.getInstructions() }));
for await (const line of createInterface({ input: process.stdin })) {
  const answer = await client.request(JSON.parse(line), ResultSchema, { timeout: 20_000 })
    .catch((error) => ({ error: String(error) }));
  console.log(JSON.stringify(answer));
}
await client.close();
