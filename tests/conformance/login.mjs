// The TypeScript client logs in by OAuth: node login.mjs URL. It knows the address of a vault and nothing else. Prints
// the address a browser should open, and reads from stdin the one the browser was sent back to. Then it works, and once
// more after its access token was lost, by its refresh token.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { createInterface } from "node:readline/promises";
import { pathToFileURL } from "node:url";

const require = createRequire(`${process.cwd()}/`);
const load = (name) => import(pathToFileURL(require.resolve(name)));
const { Client, StreamableHTTPClientTransport, UnauthorizedError } = await load("@modelcontextprotocol/client");
const [url] = process.argv.slice(2);
const kept = {};

const provider = {
  redirectUrl: "http://127.0.0.1:41999/callback",
  clientMetadata: {
    client_name: "TypeScript client",
    redirect_uris: ["http://127.0.0.1:41999/callback"],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  },
  state: () => "a state of the client",
  clientInformation: () => kept.client,
  saveClientInformation: (client) => void (kept.client = client),
  tokens: () => kept.tokens,
  saveTokens: (tokens) => void (kept.tokens = tokens),
  saveCodeVerifier: (verifier) => void (kept.verifier = verifier),
  codeVerifier: () => kept.verifier,
  saveDiscoveryState: (found) => void (kept.found = found),
  discoveryState: () => kept.found,
  redirectToAuthorization: (address) => console.log(String(address)),
};
const open = () => new StreamableHTTPClientTransport(new URL(url), { authProvider: provider });

async function work(label) {
  const client = new Client({ name: "conformance", version: "0" }, {});
  await client.connect(open());
  const stored = await client.callTool({ name: "remember", arguments: { content: `Owls turn their heads, ${label}` } });
  assert.ok(stored.structuredContent.id);
  await client.close();
}

const first = open();
await assert.rejects(new Client({ name: "conformance", version: "0" }, {}).connect(first), UnauthorizedError);
const input = createInterface({ input: process.stdin });
const back = new URL(await input.question(""));
input.close();
await first.finishAuth(back.searchParams);
await work("logged in");
const before = kept.tokens;
kept.tokens = { ...before, access_token: "lost" };
await work("refreshed");
assert.notEqual(kept.tokens.refresh_token, before.refresh_token);
console.log("ok");
process.exit(0);
