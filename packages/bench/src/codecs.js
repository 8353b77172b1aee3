// Measures the codecs alone, in this process without sockets: the cost of a request and of a stream event for each
// pair of formats, relative to JSON.parse and JSON.stringify of the same data.
import { loadCodecs } from './codec-build.js'
import { gist, openCall, time } from './codec-call.js'
import { conversation } from './codec-conversation.js'
import { benchLlmBridge } from './codec-peer.js'
import { kinds, streamOf } from './codec-streams.js'
import { setting } from './placement.js'
import { createRow, worstOf } from './row.js'
import { median, table } from './table.js'

/** @typedef {import('./codec-streams.js').Format} Format @typedef {import('./codec-streams.js').SseEvent} SseEvent */
/** @typedef {import('./codec-call.js').Core} Core */
/** @typedef {{ ours: () => void, plain: () => void, per: number }} Subject `per`: events per run; 1 for a request */
/** @typedef {{ micros: number, plainMicros: number, ratio: number, ratios: number[] }} Cost `ratios`: one per round */

const formats = /** @type {const} */ (['chat', 'messages', 'gemini', 'responses'])
const rounds = setting('BENCH_CODEC_ROUNDS', 15)
/** Milliseconds that a subject runs in one round. */
const slice = setting('BENCH_CODEC_SLICE', 5)
/** Maximum cost of an event, relative to parsing and serialising it. */
const bar = 2

/** Collects results, so that the optimizer removes no computation. */
let sink = 0
const bytes = new Uint8Array(1 << 20)
const encoder = new TextEncoder()

/** @typedef {{ client: Format, upstream: Format, name: string }} Pair */

/** @type {readonly Pair[]} */
export const codecPairs = formats.flatMap((client) =>
  formats.map((upstream) => ({ client, upstream, name: `codecs: ${client} → ${upstream}` })),
)

/** @param {Core} core @param {Format} client @param {Format} upstream @returns {Subject} */
function requestSubject(core, client, upstream) {
  const body = conversation(client)
  return {
    ours: () => {
      sink += openCall(core, client, upstream, body).encodeRequest().length
    },
    plain: () => {
      sink += JSON.stringify(JSON.parse(body)).length
    },
    per: 1,
  }
}

/** @param {Core} core @param {Format} client @param {Format} upstream @param {string} kind @returns {Subject} */
function streamSubject(core, client, upstream, kind) {
  const { codecOf, encodeAllSse } = core
  const events = streamOf(upstream, kind)
  const data = events.map((event) => event.data).filter((text) => text.startsWith('{'))
  const { exchange } = openCall(core, client, upstream, conversation(client))
  /** Translates like the gateway: each event is written before the next one is read. */
  const translate = () => {
    const decode = codecOf(upstream).decodeStream(exchange)
    const encode = codecOf(client).encodeStream(exchange)
    let text = ''
    for (const event of events) for (const model of decode.push(event)) text += encodeAllSse(encode.push(model))
    for (const model of decode.end()) text += encodeAllSse(encode.push(model))
    return text + encodeAllSse(encode.end())
  }
  checkStream(core, { client, upstream, kind }, events, translate())
  return {
    ours: () => {
      sink += encoder.encodeInto(translate(), bytes).written
    },
    plain: () => {
      for (const text of data) sink += JSON.stringify(JSON.parse(text)).length
    },
    per: events.length,
  }
}

/**
 * Checks one result before measuring: the client must receive the content that the upstream sent.
 * @param {Core} core @param {{ client: Format, upstream: Format, kind: string }} what @param {SseEvent[]} events @param
 * {string} text
 */
function checkStream(core, { client, upstream, kind }, events, text) {
  const received = text
    .split('\n\n')
    .filter((block) => block !== '' && !block.startsWith(':'))
    .map((block) => ({ data: block.slice(block.indexOf('data: ') + 6) }))
  const sent = gist(core, upstream, events)
  const read = gist(core, client, received)
  if (sent !== read || sent.length < 500)
    throw new Error(`codecs: ${client} → ${upstream}, ${kind}: the client received ${read}, the upstream sent ${sent}`)
}

/**
 * Warms all subjects up first; then rounds alternate. @param {readonly Subject[]} subjects @returns {[Subject, Cost][]}
 */
function measure(subjects) {
  for (const ms of [slice * 5, slice * 3])
    for (const { ours, plain } of subjects) {
      time(ours, ms)
      time(plain, ms)
    }
  const samples = subjects.map((subject) => ({
    subject,
    ours: /** @type {number[]} */ ([]),
    plain: /** @type {number[]} */ ([]),
  }))
  for (let round = 0; round < rounds; round++)
    for (const { subject, ours, plain } of samples) {
      ours.push(time(subject.ours, slice) / subject.per)
      plain.push(time(subject.plain, slice) / subject.per)
    }
  return samples.map(({ subject, ours, plain }) => {
    const ratios = ours.map((micros, round) => micros / (plain[round] ?? Number.NaN))
    return [subject, { micros: median(ours), plainMicros: median(plain), ratio: median(ratios), ratios }]
  })
}

/**
 * Prints a table of the pairs. @param {readonly Pair[]} pairs @returns {Promise<import('./row.js').Row[]>} the worst
 * pair, and the worst compared with llm-bridge
 */
export async function benchCodecs(pairs) {
  const core = await loadCodecs()
  const streams = pairs.map(({ client, upstream }) => kinds.map((kind) => streamSubject(core, client, upstream, kind)))
  const requests = pairs.map(({ client, upstream }) => requestSubject(core, client, upstream))
  const costs = new Map(measure([...streams.flat(), ...requests]))
  // Measures misses once more, which then count: the machine may have been busy.
  const missing = streams.flat().filter((subject) => (costs.get(subject)?.ratio ?? 0) > bar)
  for (const [subject, cost] of measure(missing)) costs.set(subject, cost)
  const bridged = await benchLlmBridge(core, pairs)

  console.log(
    `Codecs, client → upstream, compared with JSON.parse and JSON.stringify of the same data (µs : µs): an event of a stream of 200 texts, an event of a stream with reasoning and tool calls, a request of 30 messages. The bar (≤ ${bar}) is for events. * passes through in the gateway.`,
  )
  const rows = pairs.map(({ client, upstream, name }, i) => {
    const cells = [...kinds, 'request'].flatMap((title, column) => {
      const { micros, plainMicros, ratio } = costOf(costs, streams[i]?.[column] ?? requests[i])
      const digits = title === 'request' ? 0 : 2
      return [
        [title, `${micros.toFixed(digits)} : ${plainMicros.toFixed(digits)}`],
        [`${title} ×`, ratio.toFixed(2)],
      ]
    })
    return {
      codecs: `${client} → ${upstream}${client === upstream ? ' *' : ''}`,
      ...Object.fromEntries(cells),
      'llm-bridge ×': bridged.get(name)?.ratio.toFixed(1) ?? '',
    }
  })
  console.log(table(rows))
  if (sink === 0) throw new Error('nothing was measured')

  const events = pairs.flatMap(({ client, upstream }, i) =>
    (streams[i] ?? []).map((subject) => {
      const { micros, plainMicros, ratios } = costOf(costs, subject)
      return createRow({
        work: `translated stream, per event, the worst of ${pairs.length} pairs`,
        ours: `${client} → ${upstream}: ${micros.toFixed(2)} µs`,
        beside: `JSON.parse + JSON.stringify: ${plainMicros.toFixed(2)} µs`,
        rounds: ratios,
        bar: { most: bar },
        figures: rows,
      })
    }),
  )
  const beside = [...bridged.values()].map(({ pair, micros, peerMicros, ratios }) =>
    createRow({
      work: `translated stream, bytes to bytes, against llm-bridge, the worst of ${bridged.size} pairs`,
      ours: `${pair}: ${micros.toFixed(2)} µs an event`,
      beside: `llm-bridge: ${peerMicros.toFixed(2)} µs`,
      rounds: ratios,
      bar: { least: 2 },
      figures: [...bridged.values()],
    }),
  )
  return [worstOf(events), worstOf(beside)].filter((row) => row !== undefined)
}

/** @param {ReadonlyMap<Subject, Cost>} costs @param {Subject | undefined} subject @returns {Cost} */
function costOf(costs, subject) {
  const cost = subject && costs.get(subject)
  if (cost === undefined) throw new Error('a subject was not measured')
  return cost
}
