// Bytes allocated by one call, for each exchange. Runs in a process of its own whose young generation is so large that
// hardly a batch is cut short by a collection; the few that are fall out of the median.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { exchanges } from './exchanges.js'
import { callOf } from './in-process.js'
import { median } from './table.js'

const batches = 15
/** What a batch may allocate: far less than the young generation. */
const batchBytes = 4 * 1024 * 1024
const warmUp = 200

/** @param {() => Promise<unknown>} call @param {number} count */
async function allocatedBy(call, count) {
  const before = taken()
  for (let i = 0; i < count; i++) {
    await call()
    // What a call leaves for later is done before the next one.
    await nextTurn()
  }
  return (taken() - before) / count
}

/** Bytes of objects, and of the buffers that lie outside the heap. */
function taken() {
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

/** @type {{ [exchange: string]: number }} */
const figures = {}
for (const [name, exchange] of Object.entries(exchanges)) {
  const call = await callOf(exchange)
  for (let i = 0; i < warmUp; i++) await call()
  globalThis.gc?.()
  // A collection makes a batch seem small, never large.
  const estimate = Math.max(await allocatedBy(call, 10), await allocatedBy(call, 10), await allocatedBy(call, 10))
  const count = Math.max(10, Math.round(batchBytes / estimate))
  const samples = []
  for (let batch = 0; batch < batches; batch++) samples.push(await allocatedBy(call, count))
  figures[name] = Math.round(median(samples))
}
process.stdout.write(JSON.stringify(figures))
