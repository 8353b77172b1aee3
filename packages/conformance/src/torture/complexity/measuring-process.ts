// Measures attacks in a process of its own, which `measuring.ts` ends when one of them takes too long.
import { allCases } from './cases.ts'
import type { Order, Report } from './measuring.ts'
import { createSubject } from './subject.ts'
import { countValues } from './verdict.ts'

const cases = allCases()
const call = createSubject()

async function measure({ name, sizes, runs, leastMs }: Order): Promise<Report> {
  const one = cases.get(name)
  if (one === undefined) throw new Error(`no attack is called '${name}'`)
  const points = []
  let status = 0
  let said = ''
  for (const size of sizes) {
    const prepared = one.prepare(size)
    let least = Number.POSITIVE_INFINITY
    for (let run = 0; run < runs; run++) {
      if (runs > 1) globalThis.gc?.()
      let spent = 0
      let calls = 0
      do {
        const outcome = await call(one, prepared)
        // Each call has the whole limit.
        process.send?.('called')
        spent += outcome.cpuMs
        calls++
        status = outcome.status
        said = outcome.said
      } while (spent < leastMs)
      least = Math.min(least, spent / calls)
    }
    points.push({ bytes: Buffer.byteLength(prepared.grown), values: countValues(prepared.grown), cost: least })
  }
  return { name, points, status, said }
}

// Code that runs for the first time is slow: some calls of every kind are made before anything is measured.
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
    const said = error instanceof Error ? (error.stack ?? error.message) : String(error)
    process.send?.({ name: order.name, points: [], status: 0, said } satisfies Report)
  }
})
process.once('disconnect', () => process.exit())
process.send?.('ready')
