import { createRequire } from 'node:module'
import { Worker } from 'node:worker_threads'

/**
 * Loading the tokenizer parses 2.4 MB and builds maps of 200,000 entries: 0.3 to 0.6 s in one piece, during which no other call proceeds.
 * In a thread of its own the first count takes as long, and other calls are not held.
 */

/** Milliseconds without a count after which the thread ends, and its memory (some 40 MB) is free. */
const idleMs = 300_000

const program = `
const { parentPort, workerData } = require('node:worker_threads')
const { countTokens } = require(workerData)
// A special token in a prompt is what somebody wrote: neither refused nor one token.
const asText = { disallowedSpecial: new Set() }
parentPort.on('message', ({ id, texts }) => {
  let tokens = 0
  for (const text of texts) tokens += countTokens(text, asText)
  parentPort.postMessage({ id, tokens })
})`

interface Thread {
  readonly worker: Worker
  /** Counts that wait for their result. */
  readonly waiting: Map<number, (tokens: number | undefined) => void>
}

let thread: Thread | undefined
let lastId = 0
let idle: ReturnType<typeof setTimeout> | undefined
let file: string | undefined | null

/** Counts the tokens of texts with o200k_base in a thread. Resolves to undefined where `gpt-tokenizer` is not installed or the thread fails. */
export function countInThread(texts: readonly string[]): Promise<number | undefined> {
  file ??= tokenizerFile() ?? null
  if (file === null) return Promise.resolve(undefined)
  try {
    thread ??= startThread(file)
  } catch {
    // This process may not start threads.
    file = null
    return Promise.resolve(undefined)
  }
  const { worker, waiting } = thread
  clearTimeout(idle)
  idle = setTimeout(() => void worker.terminate(), idleMs)
  idle.unref()
  const id = ++lastId
  return new Promise((resolve) => {
    waiting.set(id, resolve)
    worker.postMessage({ id, texts })
  })
}

function startThread(tokenizer: string): Thread {
  // Flags of this process, such as loaders, are not for the thread.
  const worker = new Worker(program, { eval: true, workerData: tokenizer, execArgv: [] })
  const started: Thread = { worker, waiting: new Map() }
  const { waiting } = started
  const end = (): void => {
    if (thread === started) thread = undefined
    for (const resolve of waiting.values()) resolve(undefined)
    waiting.clear()
  }
  worker.on('message', ({ id, tokens }: { id: number; tokens: number }) => {
    waiting.get(id)?.(tokens)
    waiting.delete(id)
  })
  worker.on('error', end)
  worker.on('exit', end)
  // A server that has closed ends, whether or not it ever counted.
  worker.unref()
  return started
}

/** The optional peer of core, as core finds it. */
function tokenizerFile(): string | undefined {
  try {
    const own = createRequire(typeof __filename === 'string' ? __filename : import.meta.url)
    return createRequire(own.resolve('@modelgate/core')).resolve('gpt-tokenizer/encoding/o200k_base')
  } catch {
    return undefined
  }
}
