// The TypeScript client against a running server: node client.mjs URL TOKEN. Once as it comes (the last handshake
// revision) and once negotiating (2026-07-28). Exits non-zero at the first answer that is not as it should be.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(`${process.cwd()}/`);
const load = (name) => import(pathToFileURL(require.resolve(name)));
const { Client, StreamableHTTPClientTransport } = await load("@modelcontextprotocol/client");
const [url, token] = process.argv.slice(2);

async function visit(label, options) {
  const client = new Client({ name: "conformance", version: "0" }, options);
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { Authorization: `Bearer ${token}` } },
  });
  await client.connect(transport);
  const { tools } = await client.listTools();
  assert.ok(tools.some((tool) => tool.name === "remember"));
  const stored = await client.callTool({ name: "remember", arguments: { content: `Swifts sleep on the wing, ${label}` } });
  const { id } = stored.structuredContent;
  const found = await client.callTool({ name: "recall", arguments: { query: "swifts sleep" } });
  assert.ok(found.structuredContent.hits.some((hit) => hit.id === id));
  const read = await client.readResource({ uri: `memory://${id}` });
  assert.ok(read.contents[0].text.endsWith(label));
  const completed = await client.complete({
    ref: { type: "ref/resource", uri: "memory://{id}" },
    argument: { name: "id", value: id.slice(0, 30) },
  });
  assert.ok(completed.completion.values.includes(id));
  const bad = await client.callTool({ name: "recall", arguments: {} });
  assert.equal(bad.structuredContent.error.code, "invalid_argument");
  await assert.rejects(client.callTool({ name: "no_such_tool", arguments: {} }), { code: -32602 });
  await client.close();
  console.log(`TypeScript client, ${label}: ok`);
}

await visit("as it comes", {});
await visit("negotiating", { versionNegotiation: { mode: "auto" } });
