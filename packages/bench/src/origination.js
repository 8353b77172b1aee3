// Measures what `cache: 'auto'` of a target adds to a call, in this process without sockets: the same conversation of an agent with and
// without it, in alternating short rounds.
import { timeAsync } from './codec-call.js'
import { callOf } from './in-process.js'
import { answerBody } from './payloads.js'
import { setting } from './placement.js'
import { createRow } from './row.js'
import { median } from './table.js'

const rounds = setting('BENCH_CODEC_ROUNDS', 15)
/** Milliseconds that a subject runs in one round. */
const slice = setting('BENCH_CODEC_SLICE', 20)
const model = 'bench-model'
const turns = 20
/** Characters of a tool's result: the whole body has about 100 kB. */
const resultLength = 4500

const system = 'You are a careful coding agent. Read files before you change them, and run the tests. '.repeat(60)
const result = 'export const value = compute(input) // a line of a file\n'.repeat(resultLength / 56)
const schema = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] }
const numbers = Array.from({ length: turns }, (_, turn) => turn)

/** @param {number} turn */
const input = (turn) => ({ path: `src/file-${turn}.ts` })

const bodies = {
  chat: {
    model,
    max_tokens: 1024,
    tools: [{ type: 'function', function: { name: 'read', description: 'Reads a file.', parameters: schema } }],
    messages: [
      { role: 'system', content: system },
      ...numbers.flatMap((turn) => [
        { role: 'user', content: `Continue with step ${turn}.` },
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            {
              id: `call_${turn}`,
              type: 'function',
              function: { name: 'read', arguments: JSON.stringify(input(turn)) },
            },
          ],
        },
        { role: 'tool', tool_call_id: `call_${turn}`, content: result },
        { role: 'assistant', content: 'Done.' },
      ]),
      { role: 'user', content: 'Go on.' },
    ],
  },
  messages: {
    model,
    max_tokens: 1024,
    system,
    tools: [{ name: 'read', description: 'Reads a file.', input_schema: schema }],
    messages: [
      ...numbers.flatMap((turn) => [
        { role: 'user', content: `Continue with step ${turn}.` },
        { role: 'assistant', content: [{ type: 'tool_use', id: `toolu_${turn}`, name: 'read', input: input(turn) }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: `toolu_${turn}`, content: result }] },
        { role: 'assistant', content: 'Done.' },
      ]),
      { role: 'user', content: 'Go on.' },
    ],
  },
}

// Without the option, messages pass through without being parsed as a whole.
const lanes = /** @type {const} */ ([
  { client: 'chat', most: 2, expect: '"finish_reason":"stop"' },
  { client: 'messages', most: 6, expect: '"stop_reason"' },
])

const nameOf = (/** @type {string} */ client) => `cache: 'auto', 20 turns of an agent, ${client} → messages`

export const originationNames = lanes.map(({ client }) => nameOf(client))

/** @param {readonly string[]} names @returns {Promise<import('./row.js').Row[]>} */
export async function benchOrigination(names) {
  const rows = []
  for (const { client, most, expect } of lanes) {
    if (!names.includes(nameOf(client))) continue
    const body = JSON.stringify(bodies[client])
    const exchange = { client, upstream: /** @type {const} */ ('messages'), body, expect }
    const answer = new TextEncoder().encode(answerBody('messages', 1024))
    const without = await callOf({ ...exchange, answer })
    const withMarks = await callOf({ ...exchange, answer, cache: 'auto' })
    /** @type {{ without: number[], withMarks: number[] }} */
    const micros = { without: [], withMarks: [] }
    await timeAsync(without, slice * 5)
    await timeAsync(withMarks, slice * 5)
    for (let round = 0; round < rounds; round++) {
      micros.without.push(await timeAsync(without, slice))
      micros.withMarks.push(await timeAsync(withMarks, slice))
    }
    const kilobytes = Math.round(body.length / 1024)
    rows.push(
      createRow({
        work: nameOf(client),
        ours: `${median(micros.withMarks).toFixed(0)} µs for ${kilobytes} kB`,
        beside: `without: ${median(micros.without).toFixed(0)} µs`,
        rounds: micros.withMarks.map((time, round) => time / (micros.without[round] ?? Number.NaN)),
        reference: micros.without,
        bar: { most },
      }),
    )
  }
  return rows
}
