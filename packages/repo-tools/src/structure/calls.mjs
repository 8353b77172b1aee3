// How many files of core a call enters, and how often it moves between files. Run as a program; prints JSON.
//
// Method, the same on each Node version from 20: core runs from its sources, unbundled, and each function reports its file when it is
// called (instrument.mjs). A file is entered if one of its functions is called. A move is a call in another file than the call before it;
// returns are not counted. Three calls of each kind run first, so that lazy loading and caches don't count.
import { register } from 'node:module'

register('./instrument.mjs', import.meta.url)

/** @type {string[] | undefined} */
let recorded
/** The names of the functions that were entered, by file. @type {Record<string, Set<string>>} */
let functions = {}
Object.assign(globalThis, {
  modelgateStructureEnter: (/** @type {string} */ file, /** @type {string} */ name) => {
    if (recorded === undefined) return
    if (recorded.at(-1) !== file) recorded.push(file)
    functions[file] ??= new Set()
    functions[file].add(name)
  },
})

/** @type {typeof import('@modelgate/core')} */
const { createGateway, openai, anthropic } = await import(new URL('../../../core/src/index.ts', import.meta.url).href)

const messages = [{ role: 'user', content: 'Hello' }]
const usage = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 }
const json = { 'content-type': 'application/json' }

const chatResponse = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'gpt',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
  usage,
}
const embedding = {
  object: 'list',
  data: [{ object: 'embedding', index: 0, embedding: [0.1, 0.2] }],
  model: 'embed',
  usage: { prompt_tokens: 5, total_tokens: 5 },
}
const delta = (/** @type {string} */ text) => ({
  type: 'content_block_delta',
  index: 0,
  delta: { type: 'text_delta', text },
})
const messageEvents = [
  {
    type: 'message_start',
    message: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: 5, output_tokens: 1 },
    },
  },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  ...['Hel', 'lo ', 'wor', 'ld', '!'].map(delta),
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 7 } },
  { type: 'message_stop' },
]
const streamText = messageEvents.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')

const gateway = createGateway({
  auth: (token) => (token === 'key' ? { id: 'me' } : null),
  upstreams: { openai: openai({ apiKey: 'k' }), claude: anthropic({ apiKey: 'k' }) },
  models: { gpt: 'openai', embed: 'openai', claude: 'claude' },
  logger: false,
  fetch: async (input) => {
    const url = String(input instanceof Request ? input.url : input)
    if (url.includes('/messages')) return new Response(streamText, { headers: { 'content-type': 'text/event-stream' } })
    return new Response(JSON.stringify(url.includes('/embeddings') ? embedding : chatResponse), { headers: json })
  },
})

/** @param {string} path @param {object} body */
async function call(path, body) {
  const response = await gateway.fetch(`http://localhost${path}`, {
    method: 'POST',
    headers: { ...json, authorization: 'Bearer key' },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  if (!response.ok || text === '') throw new Error(`${path}: ${response.status} ${text}`)
  // The call is settled after the last byte.
  await new Promise((resolve) => setTimeout(resolve, 5))
}

/** @type {Readonly<Record<string, readonly [path: string, body: object]>>} */
const kinds = {
  'pass-through JSON': ['/v1/chat/completions', { model: 'gpt', messages }],
  'translated stream': ['/v1/chat/completions', { model: 'claude', messages, stream: true }],
  embeddings: ['/v1/embeddings', { model: 'embed', input: 'Hello' }],
}

/** @type {Record<string, { files: string[], functions: Record<string, string[]>, moves: number, back: number }>} */
const measured = {}
for (const [kind, [path, body]] of Object.entries(kinds)) {
  for (let warm = 0; warm < 3; warm++) await call(path, body)
  recorded = []
  functions = {}
  await call(path, body)
  const files = [...new Set(recorded)]
  // All moves but the first entries of files lead back to a file.
  const names = Object.fromEntries(Object.entries(functions).map(([file, set]) => [file, [...set]]))
  measured[kind] = { files, functions: names, moves: recorded.length - 1, back: recorded.length - files.length }
  recorded = undefined
}
process.stdout.write(JSON.stringify(measured))
await gateway.close()
