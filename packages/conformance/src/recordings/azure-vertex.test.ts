import { afterAll, describe, expect, test } from 'vitest'
import { simpleRequest } from '../base/client-formats.ts'
import { readRecording } from '../base/content/recording.ts'
import { gatewayTo, requestTo } from '../base/gateways.ts'
import { isObject, type JsonObject, listOf, objectOf, parseJson } from '../base/json.ts'
import { type Exchange, formats, haveRecordings, patience, recordedExchanges } from '../base/recorded-traffic.ts'
import { serveBytes } from '../base/upstream-fetch.ts'
import { createTally, expectSame, requestOf, useOf } from './checks.ts'
import { type CloudCall, callOf, cloudExchanges } from './cloud-exchanges.ts'

const { counts, count, check, expectNoneWrong } = createTally()

interface Recorded {
  readonly exchange: Exchange
  readonly call: CloudCall
  readonly model: string
}

/** Returns the successful responses of both clouds, each with its upstream and format. */
function recorded(): Recorded[] {
  const clouds = new Map(cloudExchanges().map((exchange) => [exchange.path, exchange]))
  return recordedExchanges().flatMap((exchange) => {
    const cloud = clouds.get(exchange.path)
    if (cloud === undefined) return []
    const { format } = exchange
    const call = callOf(cloud, format === 'chat' || format === 'responses' ? [format] : undefined)
    return call === undefined ? [] : [{ exchange, call, model: call.model ?? exchange.model ?? 'unknown' }]
  })
}

/** Vertex AI requires a role in each content, the Gemini API does not. */
const withRoles = (body: JsonObject): JsonObject =>
  Array.isArray(body.contents)
    ? {
        ...body,
        contents: listOf(body.contents).map((content) =>
          isObject(content) && typeof content.role !== 'string' ? { ...content, role: 'user' } : content,
        ),
      }
    : body

describe.skipIf(!haveRecordings)('recorded responses of Azure and Vertex AI', () => {
  const all = haveRecordings ? recorded() : []
  afterAll(() => {
    const lines = Object.entries(counts).map(([what, number]) => `${what} ${number}`)
    console.log(`Azure and Vertex AI: ${all.length} answers; ${lines.join(' · ')}`)
  })

  test(
    'have the same content for clients of all four formats',
    async () => {
      for (const { exchange, call, model } of all) {
        const use = useOf(exchange)
        if (use.kind !== 'answer') {
          count(`left out: ${use.why}`)
          continue
        }
        const { stream } = exchange
        for (const format of formats)
          await check(`${exchange.format} ${stream ? 'streams' : 'bodies'}`, exchange, async () => {
            const served = serveBytes(exchange.answer, { stream })
            const gateway = gatewayTo(exchange.format, { upstream: call.upstream, fetch: served.fetch })
            const body = { ...simpleRequest(format, stream), ...(format === 'gemini' ? {} : { model }) }
            const reply = await gateway.fetch(requestTo(format, JSON.stringify(body), {}, { model, stream }))
            const text = await reply.text()
            const output = readRecording({ format, stream, answer: text })
            if (output === undefined) throw new Error(`${format} ${reply.status}: ${text.slice(0, 300)}`)
            expectSame(output, use.read)
          })
      }
      expectNoneWrong()
      expect(Object.values(counts).reduce((sum, number) => sum + number, 0)).toBeGreaterThanOrEqual(900)
    },
    patience,
  )

  test(
    'were requested with the same body',
    async () => {
      let checked = 0
      for (const { exchange, call, model } of all) {
        const request = requestOf(exchange)
        if (request === undefined) continue
        const { format, stream } = exchange
        const served = serveBytes(exchange.answer, { stream })
        const gateway = gatewayTo(format, { upstream: call.upstream, fetch: served.fetch })
        const body = format === 'gemini' ? request : { ...request, model }
        await check('requests', exchange, async () => {
          const reply = await gateway.fetch(requestTo(format, JSON.stringify(body), {}, { model, stream }))
          await reply.text()
          const sent = objectOf(parseJson(served.received[0] ?? ''))
          // The gateway requests usage of streams.
          const { stream_options, ...rest } = format === 'gemini' ? withRoles(request) : body
          const { stream_options: _, ...same } = sent
          expect(same).toEqual(rest)
        })
        checked++
      }
      expectNoneWrong()
      expect(checked).toBeGreaterThanOrEqual(240)
    },
    patience,
  )
})

/** Expected status and text for each recorded error, by the end of its path. */
const errors: Readonly<Record<string, readonly [status: number, words: string]>> = {
  'azure_grok-4-1-fast-non-reasoning_handles_context_length_exceeded_errors.json': [429, 'have exceeded rate limit'],
  'azure_grok-4-1-fast-non-reasoning_raises_appropriate_auth_error.json': [502, 'credentials'],
  'handles_context_length_exceeded_errors.02.json': [400, '1048576'],
  'unary-failure-iam-permission-denied.json': [502, 'credentials'],
  'unary-failure-api-key.json': [502, 'credentials'],
  'unary-failure-quota-exceeded.json': [429, 'Quota exceeded'],
  'unary-failure-invalid-context-cache-id.json': [400, 'Invalid CachedContent name'],
  'unary-failure-model-not-found.json': [404, 'test-model-name'],
  'unary-failure-image-rejected.json': [400, 'invalid argument'],
  'unary-failure-firebasevertexai-api-not-enabled.json': [502, 'credentials'],
  'streaming-failure-http-error.json': [400, 'grpcMessage'],
  'test_generate_content_missing_model.json': [404, 'gemini-does-not-exist'],
  'test_generate_content_invalid_temperature.json': [400, 'supported range'],
  'content-url-image-google_vertex.04.json': [400, 'Cannot fetch content'],
  'unary-failure-generate-images-prompt-blocked.json': [400, 'sensitive words'],
}

describe.skipIf(!haveRecordings)('recorded errors of Azure and Vertex AI', () => {
  const failed = cloudExchanges().filter(({ status, url }) => status >= 400 && url.pathname !== '/chat/completions')

  test('are all in the table', () => {
    const known = Object.keys(errors)
    expect(failed.map(({ path }) => known.find((end) => path.endsWith(end)) ?? path).sort()).toEqual([...known].sort())
  })

  test.each(failed.map((exchange) => [exchange.path, exchange] as const))(
    'are the same for clients of all four formats: %s',
    async (path, exchange) => {
      const [status, words] = Object.entries(errors).find(([end]) => path.endsWith(end))?.[1] ?? [0, '']
      const gemini = exchange.url.host.endsWith('googleapis.com')
      const call = callOf(exchange)
      const upstream = call?.upstream ?? callOf({ ...exchange, url: someGemini })?.upstream
      if (upstream === undefined) throw new Error('unknown upstream')
      for (const format of formats) {
        const served = serveBytes(exchange.answer, { stream: false, status: exchange.status })
        const gateway = gatewayTo('gemini', { upstream, fetch: served.fetch, retry: false })
        const model = gemini ? 'gemini-x' : 'grok-x'
        const body = { ...simpleRequest(format, false), ...(format === 'gemini' ? {} : { model }) }
        const reply = await gateway.fetch(requestTo(format, JSON.stringify(body), {}, { model }))
        expect([format, reply.status, await reply.text()]).toEqual([format, status, expect.stringContaining(words)])
      }
    },
  )
})

const someGemini = new URL(
  'https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/us-central1/publishers/google/models/gemini-x:generateContent',
)
