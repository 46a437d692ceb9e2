// Written by `strongroom connect opencode --hooks`; `--undo` removes it. Changes made here are lost when it is written again.
import { spawn } from "node:child_process"

const COMMAND = ["strongroom"]
const OPTIONS = []
const WAIT_MS = 10_000

// The answer of a hook, "" for none: whatever goes wrong, the conversation goes on.
function run(event, said) {
  return new Promise((resolve) => {
    const [program, ...words] = COMMAND
    const child = spawn(program, [...words, "hook", event, "--client", "opencode", ...OPTIONS], {
      stdio: ["pipe", "pipe", "ignore"],
      timeout: WAIT_MS,
    })
    let out = ""
    child.stdout.setEncoding("utf8")
    child.stdout.on("data", (text) => (out += text))
    child.stdin.on("error", () => {})
    child.on("error", () => resolve(""))
    child.on("close", () => {
      try {
        resolve(JSON.parse(out).context)
      } catch {
        resolve("")
      }
    })
    child.stdin.end(JSON.stringify(said))
  })
}

export const Strongroom = async ({ directory }) => {
  const briefed = new Set()
  const told = (session, name, more = {}) => ({ session_id: session, cwd: directory, hook_event_name: name, ...more })
  return {
    "chat.message": async (input, output) => {
      const session = input.sessionID
      const written = output.parts.filter((part) => part.type === "text" && !part.synthetic)
      const prompt = written.map((part) => part.text).join("\n")
      const wanted = [run("prompt", told(session, "chat.message", { prompt }))]
      if (!briefed.has(session)) wanted.unshift(run("session-start", told(session, "session.start")))
      briefed.add(session)
      for (const [number, text] of (await Promise.all(wanted)).filter(Boolean).entries()) {
        const id = `prt_strongroom_${Date.now()}_${number}`
        output.parts.push({ id, sessionID: session, messageID: output.message.id, type: "text", text, synthetic: true })
      }
    },
    "experimental.session.compacting": async (input) => {
      briefed.delete(input.sessionID) // what it was told is summarized away
      await run("stop", told(input.sessionID, "session.compacting"))
    },
    event: async ({ event }) => {
      if (event.type === "session.idle") await run("stop", told(event.properties.sessionID, event.type))
      if (event.type === "session.deleted") await run("stop", told(event.properties.info.id, event.type))
    },
  }
}
