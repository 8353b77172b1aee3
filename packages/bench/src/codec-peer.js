// Compares translated streams with llm-bridge, where it supports the pair: bytes in, bytes out, in chunks as from a
// socket.
import { gist, openCall, time, timeAsync } from './codec-call.js'
import { conversation } from './codec-conversation.js'
import { streamOf } from './codec-streams.js'
import { chunksOf } from './in-process.js'
import { loadLlmBridge } from './peers.js'
import { setting } from './placement.js'
import { median } from './table.js'

/** @typedef {import('./codec-call.js').Core} Core @typedef {import('./codec-streams.js').Format} Format */
/**
 * @typedef {{ pair: string, micros: number, peerMicros: number, ratio: number, ratios: number[] }} Bridged `ratio`:
 * time of the peer divided by ours
 */

const rounds = setting('BENCH_CODEC_ROUNDS', 15)
const slice = setting('BENCH_CODEC_SLICE', 5)
const kind = 'text'

/** @type {Readonly<Record<Format, string>>} */
const providers = { chat: 'openai', messages: 'anthropic', gemini: 'google', responses: 'openai-responses' }

/** @param {Core} core @param {Format} client @param {Format} upstream @param {readonly Uint8Array[]} chunks */
function oursOf(core, client, upstream, chunks) {
  const { codecOf, createSseDecoder, encodeAllSse } = core
  const { exchange } = openCall(core, client, upstream, conversation(client))
  const encoder = new TextEncoder()
  /** @returns {Uint8Array[]} */
  return () => {
    const sse = createSseDecoder(1 << 20)
    const decode = codecOf(upstream).decodeStream(exchange)
    const encode = codecOf(client).encodeStream(exchange)
    const out = []
    for (const chunk of chunks) {
      let text = ''
      for (const event of sse.push(chunk))
        for (const model of decode.push(event)) text += encodeAllSse(encode.push(model))
      out.push(encoder.encode(text))
    }
    let text = ''
    for (const model of decode.end()) text += encodeAllSse(encode.push(model))
    out.push(encoder.encode(text + encodeAllSse(encode.end())))
    return out
  }
}

/** @param {import('./peers.js').LlmBridge} bridge @param {Format} client @param {Format} upstream @param {readonly Uint8Array[]} chunks */
function theirsOf({ handleUniversalStreamRequest }, client, upstream, chunks) {
  /** @returns {Promise<(Uint8Array | string)[]>} */
  return async () => {
    /** @type {ReadableStream<Uint8Array>} */
    const source = new ReadableStream({
      start(controller) {
        for (const chunk of chunks) controller.enqueue(chunk)
        controller.close()
      },
    })
    const reader = handleUniversalStreamRequest(source, providers[upstream], providers[client]).getReader()
    const out = []
    for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read())
      if (value !== undefined) out.push(value)
    return out
  }
}

/**
 * Returns the text that a client reads in the stream. @param {Core} core @param {Format} client @param {readonly
 * (Uint8Array | string)[]} out
 */
function textOf(core, client, out) {
  const sse = core.createSseDecoder(1 << 20)
  const events = out.flatMap((part) => (typeof part === 'string' ? sse.pushText(part) : sse.push(part)))
  /** @type {unknown[]} */
  const texts = JSON.parse(gist(core, client, [...events, ...sse.end()]))
  return texts[0]
}

/**
 * Supported pairs are those whose client receives every word.
 * @param {Core} core @param {readonly import('./codecs.js').Pair[]} pairs @returns {Promise<Map<string, Bridged>>} by
 * the pair's name
 */
export async function benchLlmBridge(core, pairs) {
  /** @type {Map<string, Bridged>} */
  const found = new Map()
  const bridge = await loadLlmBridge()
  if (bridge === undefined) return found
  const lacking = []
  for (const { client, upstream, name } of pairs.filter(({ client, upstream }) => client !== upstream)) {
    const pair = `${client} → ${upstream}`
    const events = streamOf(upstream, kind)
    const chunks = chunksOf(events)
    const ours = oursOf(core, client, upstream, chunks)
    const theirs = theirsOf(bridge, client, upstream, chunks)
    const wanted = textOf(core, client, ours())
    const got = await theirs().then(
      (out) => textOf(core, client, out),
      (error) => error,
    )
    if (got !== wanted) {
      lacking.push(pair)
      continue
    }
    /** @type {number[]} */
    const micros = []
    /** @type {number[]} */
    const peerMicros = []
    for (let warm = 0; warm < 3; warm++) {
      time(ours, slice * 10)
      await timeAsync(theirs, slice * 10)
    }
    for (let round = 0; round < rounds; round++) {
      micros.push(time(ours, slice) / events.length)
      peerMicros.push((await timeAsync(theirs, slice)) / events.length)
    }
    const ratios = peerMicros.map((peer, round) => peer / (micros[round] ?? Number.NaN))
    found.set(name, { pair, micros: median(micros), peerMicros: median(peerMicros), ratio: median(ratios), ratios })
  }
  if (lacking.length > 0) console.log(`llm-bridge loses words of ${lacking.join(', ')}: no comparison.`)
  return found
}
