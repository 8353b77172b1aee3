// Measures, for each exchange, the bytes that one call allocates, and the bytes that minor garbage collections do not free after it. Runs
// in its own process with a very large young generation, so that garbage collections rarely interrupt a batch; the median ignores
// interrupted ones.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { exchanges } from './exchanges.js'
import { callOf } from './in-process.js'
import { median } from './table.js'

const batches = 15
/** Maximum allocation of a batch: far less than the young generation. */
const batchBytes = 4 * 1024 * 1024
const warmUp = 200
const retainedCalls = 100

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

/**
 * Returns the bytes of a completed call that minor garbage collections leave behind, because an object in the old generation refers to them.
 * @param {() => Promise<unknown>} call @param {number} count
 */
async function retainedBy(call, count) {
  globalThis.gc?.()
  await allocatedBy(call, count)
  // Twice: the first minor collection keeps objects that were in use when the batch ended.
  for (let i = 0; i < 2; i++) globalThis.gc?.({ type: 'minor' })
  const retained = usedBytes()
  globalThis.gc?.()
  return (retained - usedBytes()) / count
}

/** @type {{ [exchange: string]: number }} */
const allocated = {}
/** @type {{ [exchange: string]: number }} */
const retained = {}
for (const [name, exchange] of Object.entries(exchanges)) {
  const call = await callOf(exchange)
  for (let i = 0; i < warmUp; i++) await call()
  globalThis.gc?.()
  // A garbage collection makes a batch seem smaller, never larger.
  const estimate = Math.max(await allocatedBy(call, 10), await allocatedBy(call, 10), await allocatedBy(call, 10))
  const count = Math.max(10, Math.round(batchBytes / estimate))
  const samples = []
  for (let batch = 0; batch < batches; batch++) samples.push(await allocatedBy(call, count))
  allocated[name] = Math.round(median(samples))
  const retainedSamples = []
  for (let batch = 0; batch < 3; batch++) retainedSamples.push(await retainedBy(call, retainedCalls))
  retained[name] = Math.round(median(retainedSamples))
}
process.stdout.write(JSON.stringify({ allocated, retained }))
