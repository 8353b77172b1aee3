import { createGateway, type FinishEvent, type SharedFormat, type Upstream } from '@modelgate/core'
import { referenceKinds } from '@modelgate/core/test-support'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Json, JsonObject } from '../base/json.ts'
import { bodyWith, deriveList, listFile, type PublishedField, readList } from './published-values.ts'
import { haveSpecifications, whyNoSpecifications } from './schema.ts'

if (!haveSpecifications) console.log(whyNoSpecifications)

test.skipIf(!haveSpecifications)(
  'keeps the checked-in list of published values equal to the published documents',
  async () => {
    await expect(deriveList()).toMatchFileSnapshot(listFile)
  },
)

const formats = ['chat', 'messages', 'gemini', 'responses', 'converse'] as const

const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 }
const answers: Readonly<Record<SharedFormat, JsonObject>> = {
  chat: {
    id: 'c',
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
  },
  messages: {
    id: 'm',
    type: 'message',
    role: 'assistant',
    content: [{ type: 'text', text: 'Hi' }],
    stop_reason: 'end_turn',
    usage,
  },
  gemini: { candidates: [{ content: { role: 'model', parts: [{ text: 'Hi' }] }, finishReason: 'STOP' }] },
  responses: {
    id: 'r',
    object: 'response',
    status: 'completed',
    output: [
      { type: 'message', id: 'i', role: 'assistant', content: [{ type: 'output_text', text: 'Hi', annotations: [] }] },
    ],
    usage,
  },
  converse: {
    output: { message: { role: 'assistant', content: [{ text: 'Hi' }] } },
    stopReason: 'end_turn',
    usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
    metrics: { latencyMs: 1 },
  },
}
const paths: Readonly<Record<SharedFormat, string>> = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  gemini: '/v1beta/models/m:generateContent',
  responses: '/v1/responses',
  converse: '/model/m/converse',
}

const upstreamOf = (format: SharedFormat): Upstream => ({
  baseURL: `http://${format}.test`,
  formats: { [format]: '/' },
  headers: {},
  passHeaders: [],
  quirks: {},
  // Without it, the gateway writes a summary itself.
  compaction: { trigger: true },
})

const all = 'pass' as const
let sent: string[] = []
let finished: FinishEvent[] = []

/** Creates a gateway with one model that upstreams of these formats serve, in this order. */
function gatewayFor(...served: readonly SharedFormat[]) {
  return createGateway({
    auth: () => ({ id: 'caller' }),
    upstreams: Object.fromEntries(served.map((format) => [format, upstreamOf(format)])),
    models: { '*': served.map((format) => ({ upstream: format })) },
    references: Object.fromEntries(referenceKinds.map((kind) => [kind, all])),
    responses: { store: false },
    logger: false,
    plugins: [{ name: 'watch', onFinish: (event) => void finished.push(event) }],
    fetch: (async (url: string | URL, init: RequestInit) => {
      sent.push(Buffer.from(init.body as string | Uint8Array<ArrayBuffer>).toString())
      const format = new URL(url).hostname.split('.')[0] as SharedFormat
      return Response.json(answers[format])
    }) as typeof fetch,
  })
}

type Served = ReturnType<typeof gatewayFor>

const send = (gateway: Served, format: SharedFormat, body: string): Promise<Response> =>
  gateway.fetch(`http://gateway.test${paths[format]}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer t', 'anthropic-version': '2023-06-01' },
    body,
  })

const invented = 'invented_last_week'
/** Returns true if the document enumerates the values; otherwise one value of the type is enough. */
const isEnum = ({ values }: PublishedField): boolean =>
  values.length > 0 && values.every((value) => typeof value === 'string' && value !== 'x')

/** Yields all documented values, and for each enum one undocumented value. */
function* requests(format: SharedFormat): Generator<{ readonly at: string; readonly body: string }> {
  for (const field of readList()) {
    if (field.format !== format) continue
    const values: readonly Json[] = isEnum(field) ? [...field.values, invented] : field.values
    for (const value of values) {
      const body = JSON.stringify(bodyWith(field, value), null, 1)
      yield { at: `${field.path} = ${JSON.stringify(value)}`, body }
    }
  }
}

describe.each(formats)('published value of a %s request', (format) => {
  const others = formats.filter((other) => other !== format)
  let own: Served
  beforeAll(() => {
    own = gatewayFor(format)
  })

  test('reaches an upstream of the same format byte for byte, and so does an undocumented enum value', async () => {
    const changed: string[] = []
    let count = 0
    for (const { at, body } of requests(format)) {
      sent = []
      const response = await send(own, format, body)
      const text = await response.text()
      count++
      if (response.status !== 200) changed.push(`${at}: ${response.status} ${text.slice(0, 300)}`)
      else if (sent.length !== 1 || sent[0] !== body) changed.push(`${at}: ${sent[0]?.slice(0, 300)}`)
    }
    expect(changed.slice(0, 20)).toEqual([])
    expect(count).toBeGreaterThan(200)
  })

  test.each(others)('is served by the second target if the first, of format %s, does not support it', async (other) => {
    const [alone, both] = [gatewayFor(other), gatewayFor(other, format)]
    const wrong: string[] = []
    let refused = 0
    for (const { at, body } of requests(format)) {
      finished = []
      const translated = await send(alone, format, body)
      const text = await translated.text()
      if (translated.status === 200) continue
      if (translated.status !== 400) wrong.push(`${at} to ${other}: ${translated.status} ${text.slice(0, 300)}`)
      refused++
      const response = await send(both, format, body)
      await response.text()
      const { skipped, upstream } = finished.at(-1) ?? {}
      const named = response.headers.get('modelgate-skipped')?.startsWith(`"${other}";model="m"`)
      if (response.status !== 200 || upstream !== format || skipped?.[0]?.upstream !== other || named !== true)
        wrong.push(`${at}: ${response.status}, served by ${upstream}, skipped ${JSON.stringify(skipped)}`)
    }
    expect(wrong.slice(0, 20)).toEqual([])
    expect(refused).toBeGreaterThan(0)
  })
})
