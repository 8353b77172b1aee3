// Measures how the cost of a call grows with its size, in this process without sockets. Linear growth has an exponent
// of 1, repeated reading one of 2.
import { timeAsync } from './codec-call.js'
import { callOf } from './in-process.js'
import { answerBody, conversationBody, requestBody } from './payloads.js'
import { setting } from './placement.js'
import { createRow } from './row.js'
import { median } from './table.js'

/** @typedef {{ name: string, title: string, x: string, sizes: readonly number[], body: (size: number) => string }} Dimension */
/**
 * @typedef {{ lane: 'chat → chat' | 'chat → messages', size: number, kilobytes: number, call: () => Promise<unknown>,
 * rounds: number[] }} Point `rounds`: microseconds per call
 */

const rounds = setting('BENCH_GROWTH_ROUNDS', 5)
/** Milliseconds that a point runs in one round, at least one call. */
const slice = setting('BENCH_GROWTH_SLICE', 30)
const bar = 1.15
/** Fixed costs hide growth: the exponent uses sizes within this factor of the largest. */
const range = 50

const model = 'bench-model'
const kilobyte = 1024

/** @type {readonly Dimension[]} */
const dimensions = [
  {
    name: 'growth with the length, 1 kB to 10 MB',
    title: 'one text',
    x: 'kB',
    sizes: [1, 4, 16, 64, 256, 1024, 4096, 10_240],
    body: (size) => requestBody('chat', model, size * kilobyte, false),
  },
  {
    name: 'growth with tools, 1 to 200',
    title: 'tools',
    x: 'tools',
    sizes: [1, 2, 5, 10, 20, 50, 100, 200],
    body: (size) => conversationBody(model, 1, size),
  },
  {
    name: 'growth with messages, 1 to 2,000',
    title: 'messages',
    x: 'messages',
    sizes: [1, 3, 10, 30, 100, 300, 1000, 2000],
    body: (size) => conversationBody(model, size),
  },
]

export const growthNames = dimensions.map(({ name }) => name)

const lanes = /** @type {const} */ ([
  { lane: 'chat → chat', upstream: 'chat' },
  { lane: 'chat → messages', upstream: 'messages' },
])

/** @param {Dimension} dimension @returns {Promise<Point[]>} */
async function pointsOf({ sizes, body }) {
  /** @type {Point[]} */
  const points = []
  for (const { lane, upstream } of lanes)
    for (const size of sizes) {
      const text = body(size)
      const answer = new TextEncoder().encode(answerBody(upstream, kilobyte))
      const call = await callOf({ client: 'chat', upstream, body: text, answer, expect: '"finish_reason":"stop"' })
      points.push({ lane, size, kilobytes: Buffer.byteLength(text) / kilobyte, call, rounds: [] })
    }
  return points
}

/**
 * Returns the slope of a straight line through logarithms. @param {readonly (readonly [x: number, y: number])[]} points
 */
function exponent(points) {
  const logs = points.map(([x, y]) => /** @type {const} */ ([Math.log(x), Math.log(y)]))
  const mean = (/** @type {0 | 1} */ at) => logs.reduce((sum, point) => sum + point[at], 0) / logs.length
  const [mx, my] = [mean(0), mean(1)]
  const above = logs.reduce((sum, [x, y]) => sum + (x - mx) * (y - my), 0)
  return above / logs.reduce((sum, [x]) => sum + (x - mx) ** 2, 0)
}

/** @param {readonly Point[]} points of one lane @param {number} round */
function exponentIn(points, round) {
  const largest = points.at(-1)?.kilobytes ?? 0
  const upper = points.filter(({ kilobytes }) => kilobytes >= largest / range)
  return exponent(upper.map(({ kilobytes, rounds }) => [kilobytes, rounds[round] ?? Number.NaN]))
}

/**
 * @param {readonly string[]} names of the dimensions to measure @param {{ between: () => void }} options
 * @returns {Promise<{ rows: import('./row.js').Row[], panels: import('./document.js').Panel[] }>}
 */
export async function benchGrowth(names, { between }) {
  const rows = []
  const panels = []
  for (const dimension of dimensions.filter(({ name }) => names.includes(name))) {
    const points = await pointsOf(dimension)
    for (const { call } of points) await timeAsync(call, slice * 5)
    for (let round = 0; round < rounds; round++)
      for (const point of points) point.rounds.push(await timeAsync(point.call, slice))
    between()
    const byLane = lanes.map(({ lane }) => points.filter((point) => point.lane === lane))
    const perKilobyte = byLane.map((list) => median(list.at(-1)?.rounds ?? []) / (list.at(-1)?.kilobytes ?? 1))
    const exponents = byLane.map((list) => Array.from({ length: rounds }, (_, round) => exponentIn(list, round)))
    rows.push(
      createRow({
        work: dimension.name,
        ours: lanes.map(({ lane }, i) => `${lane} ${perKilobyte[i]?.toFixed(2)} µs/kB`).join(', '),
        beside: 'linear: exponent 1',
        rounds: Array.from({ length: rounds }, (_, round) => Math.max(...exponents.map((list) => list[round] ?? 0))),
        unit: '(exponent)',
        bar: { most: bar },
        figures: points.map(({ lane, size, kilobytes, rounds }) => ({ lane, size, kilobytes, µs: median(rounds) })),
      }),
    )
    panels.push({
      title: dimension.title,
      x: dimension.x,
      y: 'µs per call',
      series: lanes.map(({ lane }, i) => ({
        name: lane,
        points: (byLane[i] ?? []).map(({ size, rounds }) => /** @type {const} */ ([size, median(rounds)])),
      })),
    })
  }
  return { rows, panels }
}
