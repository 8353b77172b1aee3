// Measures attacks in its own process, which `measuring.ts` kills if an attack takes too long.
import { allCases } from './cases.ts'
import type { Order, Report } from './measuring.ts'
import { createSubject } from './subject.ts'
import { countValues } from './verdict.ts'

const cases = allCases()
const call = createSubject()

async function measure({ name, sizes, runs, leastMs }: Order): Promise<Report> {
  const one = cases.get(name)
  if (one === undefined) throw new Error(`Unknown attack '${name}'`)
  const points = []
  let status = 0
  let text = ''
  for (const size of sizes) {
    const prepared = one.prepare(size)
    let least = Number.POSITIVE_INFINITY
    for (let run = 0; run < runs; run++) {
      if (runs > 1) globalThis.gc?.()
      let spent = 0
      let calls = 0
      do {
        const outcome = await call(one, prepared)
        // Each call has the whole time limit.
        process.send?.('called')
        spent += outcome.cpuMs
        calls++
        status = outcome.status
        text = outcome.responseStart
      } while (spent < leastMs)
      least = Math.min(least, spent / calls)
    }
    points.push({ bytes: Buffer.byteLength(prepared.grown), values: countValues(prepared.grown), cost: least })
  }
  return { name, points, status, responseStart: text }
}

// Number of calls of every kind before the first measurement, because code is slow when it first runs.
const warmUps = 300
const every = Math.ceil(cases.size / warmUps)
for (const [at, one] of [...cases.values()].entries()) {
  if (at % every !== 0 || one.kind === 'schema') continue
  await call(one, one.prepare(2000)).catch(() => {})
}

process.on('message', async (order: Order) => {
  try {
    process.send?.(await measure(order))
  } catch (error) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
    process.send?.({ name: order.name, points: [], status: 0, responseStart: text } satisfies Report)
  }
})
process.once('disconnect', () => process.exit())
process.send?.('ready')
