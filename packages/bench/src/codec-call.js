// A call at the level of codecs, for both codec benchmarks.
import { conversation } from './codec-conversation.js'

/** @typedef {import('./codec-streams.js').Format} Format @typedef {import('./codec-streams.js').SseEvent} SseEvent */
/** @typedef {Awaited<ReturnType<typeof import('./codec-build.js').loadCodecs>>} Core */

/**
 * Creates the context that both directions of a call share. @param {Core} core @param {Format} client @param {Format}
 * upstream @param {string} body
 */
export function openCall({ codecOf, createReport, responseReport }, client, upstream, body) {
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
    exchange: { ...context, report: responseReport(report), request, target },
  }
}

/** Returns the content of a stream as JSON. @param {Core} core @param {Format} format @param {SseEvent[]} events */
export function gist(core, format, events) {
  const { exchange } = openCall(core, format, format, conversation(format))
  const machine = core.codecOf(format).decodeStream(exchange)
  /** @type {{ [type: string]: string }} */
  const texts = {}
  for (const event of [...events.flatMap((event) => machine.push(event)), ...machine.end()]) {
    if (event.type === 'error') throw new Error(`a stream of ${format} failed: ${event.error.message}`)
    if (event.type === 'choice-end') texts.finish = event.finish.reason
    if (event.type !== 'part-delta' || !('text' in event.delta)) continue
    const { type, text } = event.delta
    texts[type] = (texts[type] ?? '') + text
  }
  return JSON.stringify(['text', 'reasoning', 'input', 'finish'].map((type) => texts[type]))
}

/**
 * Runs for about `ms` milliseconds and returns the time of one run in microseconds. @param {() => void} run @param
 * {number} ms
 */
export function time(run, ms) {
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

/** The same for asynchronous runs. @param {() => Promise<unknown>} run @param {number} ms @returns {Promise<number>} */
export async function timeAsync(run, ms) {
  let count = 0
  const started = performance.now()
  let now = started
  do {
    await run()
    count++
    now = performance.now()
  } while (now - started < ms)
  return ((now - started) * 1000) / count
}
