// The codecs alone, in this process and without sockets: what a pair of formats costs a request, and an event of a stream,
// in terms of what JSON.parse and JSON.stringify of the same data cost.
import { loadCodecs } from './codec-build.js'
import { conversation } from './codec-conversation.js'
import { kinds, streamOf } from './codec-streams.js'
import { median, table } from './table.js'

/** @typedef {import('./codec-streams.js').Format} Format @typedef {import('./codec-streams.js').SseEvent} SseEvent */
/** @typedef {Awaited<ReturnType<typeof loadCodecs>>} Core */
/** @typedef {{ ours: () => void, plain: () => void, per: number }} Subject `per`: how many events one run is; 1 for a request */
/** @typedef {{ micros: number, plainMicros: number, ratio: number }} Cost */

const formats = /** @type {const} */ (['chat', 'messages', 'gemini', 'responses'])
const rounds = Number(process.env.BENCH_CODEC_ROUNDS ?? 15)
/** How long a subject runs in one round, in milliseconds. */
const slice = Number(process.env.BENCH_CODEC_SLICE ?? 5)
/** An event may cost this many times what parsing and writing it costs. */
const bar = 3

/** Whatever is computed goes in here, so that nothing is computed for nothing. */
let sink = 0
const bytes = new Uint8Array(1 << 20)
const encoder = new TextEncoder()

/** @typedef {{ client: Format, upstream: Format, name: string }} Pair */

/** @type {readonly Pair[]} */
export const codecPairs = formats.flatMap((client) =>
  formats.map((upstream) => ({ client, upstream, name: `codecs: ${client} → ${upstream}` })),
)

/** What both directions of a call share. @param {Core} core @param {Format} client @param {Format} upstream @param {string} body */
function openCall({ codecOf, createReport, answerSide }, client, upstream, body) {
  const from = codecOf(client)
  const to = codecOf(upstream)
  let ids = 0
  const report = createReport()
  const target = { model: 'bench-model', quirks: {} }
  const context = {
    report,
    newId: (/** @type {string} */ prefix) => `${prefix}${ids++}`,
    now: () => 1_760_000_000,
    upstream,
  }
  const decoded = from.decodeRequest(from.validateRequest(JSON.parse(body)), context)
  const request = { ...decoded, at: { ...from.fieldPointers, ...decoded.at } }
  return {
    encodeRequest: () => JSON.stringify(to.encodeRequest(request, { ...context, target })),
    exchange: { ...context, report: answerSide(report), request, target },
  }
}

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
  /** The whole of it, as the gateway does it: each event is on its way before the next one is read. */
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
 * One answer is looked at before thousands are measured: what the client reads is what the upstream said.
 * @param {Core} core @param {{ client: Format, upstream: Format, kind: string }} what @param {SseEvent[]} events @param {string} text
 */
function checkStream(core, { client, upstream, kind }, events, text) {
  const told = text
    .split('\n\n')
    .filter((block) => block !== '' && !block.startsWith(':'))
    .map((block) => ({ data: block.slice(block.indexOf('data: ') + 6) }))
  const said = gist(core, upstream, events)
  const read = gist(core, client, told)
  if (said !== read || said.length < 500)
    throw new Error(`codecs: ${client} → ${upstream}, ${kind}: the client reads ${read}, the upstream said ${said}`)
}

/** What a stream says, as one line. @param {Core} core @param {Format} format @param {SseEvent[]} events */
function gist(core, format, events) {
  const { exchange } = openCall(core, format, format, conversation(format))
  const machine = core.codecOf(format).decodeStream(exchange)
  /** @type {{ [type: string]: string }} */
  const said = {}
  for (const event of [...events.flatMap((event) => machine.push(event)), ...machine.end()]) {
    if (event.type === 'error') throw new Error(`a stream of ${format} broke: ${event.error.message}`)
    if (event.type === 'choice-end') said.finish = event.finish.reason
    if (event.type !== 'part-delta' || !('text' in event.delta)) continue
    const { type, text } = event.delta
    said[type] = (said[type] ?? '') + text
  }
  return JSON.stringify(['text', 'reasoning', 'input', 'finish'].map((type) => said[type]))
}

/** Runs for about `ms` and gives the time of one run in microseconds. @param {() => void} run @param {number} ms */
function time(run, ms) {
  let count = 0
  const started = performance.now()
  let now = started
  do {
    run()
    count++
    now = performance.now()
  } while (now - started < ms)
  return ((now - started) * 1000) / count
}

/** All subjects warm up before any is measured; then rounds alternate. @param {readonly Subject[]} subjects @returns {[Subject, Cost][]} */
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
  return samples.map(({ subject, ours, plain }) => [
    subject,
    {
      micros: median(ours),
      plainMicros: median(plain),
      ratio: median(ours.map((micros, round) => micros / (plain[round] ?? Number.NaN))),
    },
  ])
}

/** Prints the table. @param {readonly Pair[]} pairs @returns {Promise<number>} how many pairs miss the bar */
export async function benchCodecs(pairs) {
  const core = await loadCodecs()
  const streams = pairs.map(({ client, upstream }) => kinds.map((kind) => streamSubject(core, client, upstream, kind)))
  const requests = pairs.map(({ client, upstream }) => requestSubject(core, client, upstream))
  const costs = new Map(measure([...streams.flat(), ...requests]))
  // The machine may have been busy with something else: what missed the bar is measured once more, and that counts.
  const missing = streams.flat().filter((subject) => (costs.get(subject)?.ratio ?? 0) > bar)
  for (const [subject, cost] of measure(missing)) costs.set(subject, cost)

  console.log(
    `Codecs, client → upstream, beside JSON.parse and JSON.stringify of the same data (µs : µs): an event of a stream of 200 texts, an event of a stream with reasoning and calls, a request of 30 messages. The bar is for events. * in truth passed through as it is.`,
  )
  let missed = 0
  const rows = pairs.map(({ client, upstream }, i) => {
    const passed = streams[i]?.every((subject) => (costs.get(subject)?.ratio ?? Number.NaN) <= bar) === true
    if (!passed) missed++
    const cells = [...kinds, 'request'].flatMap((title, column) => {
      const subject = streams[i]?.[column] ?? requests[i]
      const { micros, plainMicros, ratio } = (subject && costs.get(subject)) ?? noCost
      const digits = title === 'request' ? 0 : 2
      return [
        [title, `${micros.toFixed(digits)} : ${plainMicros.toFixed(digits)}`],
        [`${title} ×`, ratio.toFixed(2)],
      ]
    })
    return {
      codecs: `${client} → ${upstream}${client === upstream ? ' *' : ''}`,
      ...Object.fromEntries(cells),
      bar: `${passed ? 'pass' : 'MISSED'} (≤ ${bar})`,
    }
  })
  console.log(table(rows))
  if (sink === 0) throw new Error('nothing was measured')
  return missed
}

/** @type {Cost} */
const noCost = { micros: Number.NaN, plainMicros: Number.NaN, ratio: Number.NaN }
