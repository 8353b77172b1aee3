import { createRequire } from 'node:module'
import { Worker } from 'node:worker_threads'

// Loading the tokenizer parses 2.4 MB and builds maps of 200,000 entries: 0.3 to 0.6 s of synchronous work. In its own thread the
// first count takes as long, but other calls proceed.

/** Milliseconds without a count after which the thread ends and frees its memory (about 40 MB). */
const idleMs = 300_000

const program = `
const { parentPort, workerData } = require('node:worker_threads')
const { countTokens } = require(workerData)
// Text that looks like a special token is counted as text.
const asText = { disallowedSpecial: new Set() }
parentPort.on('message', ({ id, texts }) => {
  let tokens = 0
  for (const text of texts) tokens += countTokens(text, asText)
  parentPort.postMessage({ id, tokens })
})`

interface Thread {
  readonly worker: Worker
  /** Pending counts by their id. */
  readonly pending: Map<number, (tokens: number | undefined) => void>
}

let thread: Thread | undefined
let lastId = 0
let idle: ReturnType<typeof setTimeout> | undefined
let tokenizerPath: string | undefined | null

/**
 * Counts the tokens of texts with o200k_base in a worker thread. Resolves to undefined if `gpt-tokenizer` is not installed or the thread
 * fails.
 */
export function countTokensInThread(texts: readonly string[]): Promise<number | undefined> {
  tokenizerPath ??= findTokenizer() ?? null
  if (tokenizerPath === null) return Promise.resolve(undefined)
  try {
    thread ??= startThread(tokenizerPath)
  } catch {
    // This process is not allowed to start threads.
    tokenizerPath = null
    return Promise.resolve(undefined)
  }
  const { worker, pending } = thread
  clearTimeout(idle)
  idle = setTimeout(() => void worker.terminate(), idleMs)
  idle.unref()
  const id = ++lastId
  return new Promise((resolve) => {
    pending.set(id, resolve)
    worker.postMessage({ id, texts })
  })
}

function startThread(tokenizer: string): Thread {
  // The thread must not inherit flags of this process, such as loaders.
  const worker = new Worker(program, { eval: true, workerData: tokenizer, execArgv: [] })
  const started: Thread = { worker, pending: new Map() }
  const { pending } = started
  const end = (): void => {
    if (thread === started) thread = undefined
    for (const resolve of pending.values()) resolve(undefined)
    pending.clear()
  }
  worker.on('message', ({ id, tokens }: { id: number; tokens: number }) => {
    pending.get(id)?.(tokens)
    pending.delete(id)
  })
  worker.on('error', end)
  worker.on('exit', end)
  // The thread must not keep the process of a closed server alive.
  worker.unref()
  return started
}

/** Resolves the optional peer dependency as core would. */
function findTokenizer(): string | undefined {
  try {
    const own = createRequire(typeof __filename === 'string' ? __filename : import.meta.url)
    return createRequire(own.resolve('@modelgate/core')).resolve('gpt-tokenizer/encoding/o200k_base')
  } catch {
    return undefined
  }
}
