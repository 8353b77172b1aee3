import { cohere, createGateway, type FinishEvent, jina, voyage } from '@modelgate/core'
import { createFakeProvider } from '@modelgate/testing'
import { beforeAll, expect, test } from 'vitest'
import type { ClientFormat } from '../base/client-formats.ts'
import { noSharedHealth, upstreamKey, upstreamOf } from '../base/gateways.ts'
import { isObject, parseJson } from '../base/json.ts'
import { type Format, formats } from '../base/recorded-traffic.ts'
import { good } from '../base/streams.ts'
import { wholeResponse } from '../base/upstream-responses.ts'
import { internalLeak, isDialectError } from './oracle.ts'
import { requestRecipes } from './recipes.ts'
import { type FuzzRequest, isGood, requestBases, requestOf } from './requests.ts'
import { fuzz, fuzzPatience, settled, watchProcess, withFacts } from './runs.ts'
import { withUnprintableValues } from './unprintable-values.ts'

watchProcess()

const depth = 128
const decoder = new TextDecoder()
let finished: FinishEvent[] = []
/** Bodies that reached an upstream. */
let sent: string[] = []

const formatOf = (path: string): Format | undefined =>
  path.endsWith('/chat/completions')
    ? 'chat'
    : path.endsWith('/messages')
      ? 'messages'
      : /:(streamG|g)enerateContent$/.test(path)
        ? 'gemini'
        : path.endsWith('/responses')
          ? 'responses'
          : undefined
const provider = createFakeProvider({ keepRequests: 0 })
const answers = Object.fromEntries(
  formats.map((format) => [format, { stream: good[format].join(''), whole: JSON.stringify(wholeResponse[format]) }]),
)
const media = (mimeType: string): object => ({
  candidates: [
    { content: { role: 'model', parts: [{ inlineData: { mimeType, data: 'iVBORw0KGgo=' } }] }, finishReason: 'STOP' },
  ],
})
const hugeVector = /imension\w*"\s*:\s*(\d{5,}|\d[\d.]*[eE])/
/** An upstream with a valid response to every request. */
async function upstream(input: string | URL | Request, init?: RequestInit): Promise<Response> {
  const { pathname } = new URL(String(input))
  const body = typeof init?.body === 'string' ? init.body : decoder.decode(init?.body as Uint8Array)
  sent.push(body)
  const format = formatOf(pathname)
  // A requested embedding of this size would exhaust the fake provider's memory.
  if (hugeVector.test(body))
    return Response.json({ error: { message: 'too long', type: 'invalid_request_error' } }, { status: 400 })
  if (format === undefined) return provider.fetch(input, init)
  // Images and speech are also requested in generateContent.
  if (body.includes('responseModalities'))
    return Response.json(body.includes('AUDIO') ? media('audio/L16;rate=24000') : media('image/png'))
  const sentBody = parseJson(body)
  const streams = pathname.includes(':stream') || (isObject(sentBody) && sentBody.stream === true)
  return streams
    ? new Response(answers[format]?.stream, { headers: { 'content-type': 'text/event-stream' } })
    : new Response(answers[format]?.whole, { headers: { 'content-type': 'application/json' } })
}

const others = {
  cohere: cohere({ apiKey: upstreamKey }),
  jina: jina({ apiKey: upstreamKey }),
  voyage: voyage({ apiKey: upstreamKey }),
}
const names = [...formats, ...Object.keys(others)]
const gateway = createGateway<string>({
  auth: 'none',
  upstreams: { ...Object.fromEntries(formats.map((format) => [format, upstreamOf(format)])), ...others },
  models: Object.fromEntries(names.map((name) => [`${name}-model`, name])),
  plugins: [{ name: 'witness', onFinish: (event) => void finished.push(event) }],
  logger: false,
  retry: false,
  breaker: false,
  health: noSharedHealth,
  explain: true,
  limits: { depth },
  fetch: upstream,
})
const bases = requestBases((name) => `${name}-model`, true)

interface Answer {
  readonly status: number
  readonly text: string
  /** Name of an error outside of its body. */
  readonly name: string
}

async function ask(request: FuzzRequest): Promise<Answer> {
  const { path, query, headers, body } = request
  const response = await gateway.fetch(
    new Request(`http://gateway.test${path}${query === '' ? '' : `?${query}`}`, {
      method: 'POST',
      headers: { ...headers },
      body: body as BodyInit,
    }),
  )
  const name = response.headers.get('x-amzn-errortype') ?? ''
  return { status: response.status, text: await response.text(), name }
}

function complaint(request: FuzzRequest, { status, text, name }: Answer): string | undefined {
  if (status >= 500 && status !== 501) return `status ${status} although all upstreams succeed`
  const inside = status < 400 ? internalLeak('', []) : internalLeak(text, [upstreamKey, 'upstream.test'])
  if (inside !== undefined) return inside
  // An unknown path returns an error in the Chat Completions format.
  const dialects: readonly ClientFormat[] =
    status === 404 || status === 405 ? [request.dialect, 'chat'] : [request.dialect]
  if (status >= 400 && !dialects.some((dialect) => isDialectError(dialect, status, text, name)))
    return `status ${status} has a body outside of the ${request.dialect} dialect`
  for (const body of sent) if (!isObject(parseJson(body))) return `the upstream body is not a JSON object: ${body}`
  if (!isGood(request.body, depth)) {
    if (status < 400) return `status ${status} for an invalid body`
    if (sent.length > 0) return 'an invalid body reached the upstream'
  }
  if (finished.length > 1) return `onFinish was called ${finished.length} times`
  if (sent.length > 0 && finished.length !== 1) return `onFinish was called ${finished.length} times`
  return undefined
}

beforeAll(async () => {
  // Lazy loading would be measured as slowness.
  for (let base = 0; base < bases.length; base++)
    await settled(ask(requestOf(bases, { base, steps: [], bytes: [], head: [] })))
}, 60_000)

test(
  'serves or rejects fuzzed requests in their dialect, and sends only JSON to upstreams',
  () =>
    fuzz(
      'requests',
      requestRecipes,
      async (recipe) => {
        const request = requestOf(bases, recipe)
        finished = []
        sent = []
        const answer = await settled(ask(request))
        const { path, query, headers, upstream: name, body } = request
        return withFacts(
          complaint(request, answer),
          `${path}?${query} for ${name} ${JSON.stringify(headers)}`,
          decoder.decode(body),
          `${answer.status} ${answer.text}`,
        )
      },
      3000,
    ),
  fuzzPatience,
)

test('handles an object without a primitive form at any place of a request without an exception', async () => {
  const found: string[] = []
  const seen = new Set<string>()
  for (let base = 0; base < bases.length; base++) {
    const request = requestOf(bases, { base, steps: [], bytes: [], head: [] })
    const what = `${request.path} ${request.upstream} ${decoder.decode(request.body)}`
    if (seen.has(what)) continue
    seen.add(what)
    for (const { body, place } of withUnprintableValues(request.body)) {
      finished = []
      sent = []
      const requested = { ...request, body }
      const wrong = complaint(requested, await settled(ask(requested)))
      if (wrong !== undefined) found.push(`${request.path} for ${request.upstream}, ${place}: ${wrong}`)
    }
  }
  expect(found).toEqual([])
}, 240_000)
