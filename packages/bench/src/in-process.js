// Calls a gateway in its own process, with a synthetic client and upstream: the cost of the pipeline without sockets.

import { createGateway, gemini, openaiCompatible } from '@modelgate/core'
import { adapterFunctions } from '@modelgate/core/adapter'

/** @typedef {import('./codec-streams.js').Format} Format */
/** @typedef {(signal?: unknown) => Promise<number>} Call resolves to the number of bytes that the client received */
/**
 * @typedef {{ client: Format, upstream: Format, body: string | Uint8Array, answer: Uint8Array | readonly Uint8Array[],
 * expect: string, cache?: 'auto' }} Exchange `answer`: JSON bytes, or the chunks of a stream
 */

const apiKey = 'upstream-key'
const baseURL = 'http://upstream.example/v1'

/**
 * Paths of the client formats; Gemini's contains the model and selects streaming. @type {Readonly<Record<Format,
 * (stream: boolean) => string>>}
 */
const paths = {
  chat: () => '/v1/chat/completions',
  messages: () => '/v1/messages',
  responses: () => '/v1/responses',
  gemini: (stream) => `/v1beta/models/bench-model:${stream ? 'streamGenerateContent' : 'generateContent'}`,
}

const headers = new Map([
  ['authorization', 'Bearer bench-token'],
  ['content-type', 'application/json'],
  ['anthropic-version', '2023-06-01'],
])

/** A minimal signal, because benchmarks abort nothing. */
const signal = { aborted: false, reason: undefined, addEventListener() {}, removeEventListener() {} }

/** @param {Exchange['answer']} answer @returns {import('@modelgate/core').Transport} */
function transportOf(answer) {
  const whole = answer instanceof Uint8Array
  const type = whole ? 'application/json' : 'text/event-stream'
  const response = {
    status: 200,
    header: (/** @type {string} */ name) => (name === 'content-type' ? type : undefined),
    bytes: () => Promise.resolve(whole ? answer : new Uint8Array()),
    stream: async function* () {
      if (whole) yield answer
      else yield* answer
    },
    discard() {},
  }
  // Like the adapters' transports, so that the gateway does not wrap it.
  return Object.assign(() => Promise.resolve(response), { settlesOnAbort: /** @type {const} */ (true) })
}

/** @param {Format} format @param {string} model @param {'auto'} [cache] */
const gatewayTo = (format, model, cache) =>
  createGateway({
    auth: (token) => (token === 'bench-token' ? { id: 'bench' } : null),
    upstreams: {
      up: format === 'gemini' ? gemini({ apiKey, baseURL }) : openaiCompatible({ baseURL, apiKey, formats: [format] }),
    },
    models: { [model]: cache === undefined ? 'up' : [{ upstream: 'up', cache }] },
    plugins: [{ name: 'meter', onFinish: () => {} }],
  })

/**
 * Returns a repeatable call, after a check of its first response.
 * @param {Exchange} exchange @returns {Promise<Call>}
 */
export async function callOf({ client, upstream, body, answer, expect, cache }) {
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
  const { handle } = adapterFunctions(gatewayTo(upstream, 'bench-model', cache))
  const transport = transportOf(answer)
  const inbound = {
    method: 'POST',
    path: paths[client](!(answer instanceof Uint8Array)),
    query: client === 'gemini' ? 'alt=sse' : '',
    signal,
    header: (/** @type {string} */ name) => headers.get(name),
    read: () => Promise.resolve(bytes),
  }
  const send = () => handle({ ...inbound }, transport)
  const first = await send()
  const responseText = await textOf(first.body)
  if (first.status !== 200 || !responseText.includes(expect))
    throw new Error(`${client} → ${upstream}: the gateway returned ${first.status} ${responseText.slice(0, 500)}`)
  return async () => {
    const { body } = await send()
    if (body === null || typeof body === 'string' || body instanceof Uint8Array) return body?.length ?? 0
    let length = 0
    for await (const chunk of body) length += chunk.length
    return length
  }
}

/** @param {import('@modelgate/core').Reply['body']} body */
async function textOf(body) {
  if (body === null || typeof body === 'string') return body ?? ''
  const decoder = new TextDecoder()
  if (body instanceof Uint8Array) return decoder.decode(body)
  let text = ''
  for await (const chunk of body) text += decoder.decode(chunk, { stream: true })
  return text
}

/**
 * Returns events in chunks, as an upstream sends them. @param {readonly import('./codec-streams.js').SseEvent[]} events
 * @param {number} [perChunk]
 */
export function chunksOf(events, perChunk = 20) {
  const encoder = new TextEncoder()
  const texts = events.map(({ event, data }) => `${event === undefined ? '' : `event: ${event}\n`}data: ${data}\n\n`)
  return Array.from({ length: Math.ceil(texts.length / perChunk) }, (_, i) =>
    encoder.encode(texts.slice(i * perChunk, (i + 1) * perChunk).join('')),
  )
}
