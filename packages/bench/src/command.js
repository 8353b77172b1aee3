// Starts the command `modelgate`, and measures how soon it serves calls.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { requestBody } from './payloads.js'
import { setting } from './placement.js'
import { startServer } from './process.js'
import { createRow } from './row.js'
import { median } from './table.js'

export const program = fileURLToPath(new URL('../../cli/bin/modelgate.js', import.meta.url))
const starts = setting('BENCH_COMMAND_STARTS', 9)
const mostMilliseconds = 40

export const commandName = 'npx modelgate, first translated call'

/** Resolves when the command listens. @param {string} folder with the configuration @param {readonly string[]} [args] */
export async function startCommand(folder, args = []) {
  const child = spawn(process.execPath, [program, '--port', '0', ...args], {
    cwd: folder,
    env: { ...process.env, NODE_ENV: 'production' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  const port = await new Promise((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (part) => {
      // Lines of the log follow the address.
      if (text.length < 10_000) text += part
      const [, found] = /listens on http:\/\/[^ ]*:(\d+)/.exec(text) ?? []
      if (found !== undefined) resolve(Number(found))
    })
    child.once('exit', () => reject(new Error(`modelgate ended: ${text}`)))
  })
  return { port, pid: child.pid ?? 0, stop: () => child.kill('SIGTERM') }
}

/** @param {number} port */
async function callOnce(port) {
  const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: requestBody('chat', 'bench-model', 1024, false),
  })
  const text = await response.text()
  if (!text.includes('chat.completion')) throw new Error(`${commandName}: ${response.status} ${text.slice(0, 300)}`)
}

/** Measures the command from its start until it listens, and from then until a first call has its translated response. */
export async function benchCommand() {
  const upstream = await startServer('./upstream.js')
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-bench-'))
  const baseURL = `http://127.0.0.1:${upstream.port}/json/v1`
  const config = {
    auth: 'none',
    upstreams: { claude: { provider: 'openaiCompatible', baseURL, apiKey: 'upstream-key', formats: ['messages'] } },
    models: { 'bench-model': 'claude' },
  }
  writeFileSync(join(folder, 'modelgate.config.json'), JSON.stringify(config))
  const listening = []
  const firstCall = []
  try {
    // The first start reads files from disk, later ones from memory.
    for (let i = 0; i <= starts; i++) {
      const started = performance.now()
      const command = await startCommand(folder)
      const listens = performance.now()
      try {
        await callOnce(command.port)
      } finally {
        command.stop()
      }
      if (i === 0) continue
      listening.push(listens - started)
      firstCall.push(performance.now() - listens)
    }
  } finally {
    await upstream.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  return [
    createRow({
      work: commandName,
      ours: `${median(firstCall).toFixed(0)} ms after listening`,
      beside: `from the start until it listens: ${median(listening).toFixed(0)} ms`,
      rounds: firstCall,
      unit: 'ms',
      absolute: true,
      digits: 0,
      bar: { most: mostMilliseconds },
      figures: { listening, firstCall },
    }),
  ]
}
