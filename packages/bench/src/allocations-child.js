// Measures the bytes that one call allocates, for each exchange. Runs in its own process with a very large young
// generation, so that garbage collections rarely interrupt a batch; the median ignores interrupted ones.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { exchanges } from './exchanges.js'
import { callOf } from './in-process.js'
import { median } from './table.js'

const batches = 15
/** Maximum allocation of a batch: far less than the young generation. */
const batchBytes = 4 * 1024 * 1024
const warmUp = 200

/** @param {() => Promise<unknown>} call @param {number} count */
async function allocatedBy(call, count) {
  const before = usedBytes()
  for (let i = 0; i < count; i++) {
    await call()
    // Finishes deferred work of a call before the next one.
    await nextTurn()
  }
  return (usedBytes() - before) / count
}

/** Returns the bytes of objects, and of buffers outside of the heap. */
function usedBytes() {
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

/** @type {{ [exchange: string]: number }} */
const figures = {}
for (const [name, exchange] of Object.entries(exchanges)) {
  const call = await callOf(exchange)
  for (let i = 0; i < warmUp; i++) await call()
  globalThis.gc?.()
  // A garbage collection makes a batch seem smaller, never larger.
  const estimate = Math.max(await allocatedBy(call, 10), await allocatedBy(call, 10), await allocatedBy(call, 10))
  const count = Math.max(10, Math.round(batchBytes / estimate))
  const samples = []
  for (let batch = 0; batch < batches; batch++) samples.push(await allocatedBy(call, count))
  figures[name] = Math.round(median(samples))
}
process.stdout.write(JSON.stringify(figures))
