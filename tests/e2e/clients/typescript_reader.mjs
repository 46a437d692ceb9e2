// The TypeScript SDK as it comes, which checks each result against the tool's schema: node typescript_reader.mjs URL
// TOKEN prints, as JSON, what a client sees that shows its model only structured content. Run where the SDK lies.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(`${process.cwd()}/`);
const load = (name) => import(pathToFileURL(require.resolve(name)));
const { Client } = await load("@modelcontextprotocol/sdk/client/index.js");
const { StreamableHTTPClientTransport } = await load("@modelcontextprotocol/sdk/client/streamableHttp.js");
const [url, token] = process.argv.slice(2);

const client = new Client({ name: "typescript", version: "0" });
const requestInit = { headers: { Authorization: `Bearer ${token}` } };
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
await client.listTools();
const seen = {};
const call = async (name, args) => {
  seen[name] = (await client.callTool({ name, arguments: args })).structuredContent;
  return seen[name];
};
const { id } = await call("remember", { content: "The tram stops at pier 9", type: "fact" });
await call("recall", { query: "where does the tram stop" });
await call("memory_get", { ids: [id] });
await call("note_write", { path: "trips/tram.md", content: "# Tram\n\nTickets are sold on board.\n" });
await call("note_read", { path: "trips/tram.md" });
await call("search", { query: "tickets on board" });
await call("fetch", { id: "trips/tram.md" });
await call("session_resume", {});
await client.close();
console.log(JSON.stringify(seen));
