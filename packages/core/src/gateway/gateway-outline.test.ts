import { describe, expect, it } from 'vitest'
import type { GatewayConfig } from '../config/config.ts'
import type { FinishEvent } from '../config/finish-event.ts'
import type { RequestEvent } from '../config/plugin.ts'
import { anthropic } from '../upstreams/anthropic.ts'
import { openai } from '../upstreams/openai.ts'
import { openaiCompatible } from '../upstreams/openai-compatible.ts'
import { completion } from './create-gateway.test-support.ts'
import { createGateway } from './create-gateway.ts'

const prose = 'Wie man "so" sagt,\nin Łódź wie in 北京 🙂. '.repeat(2000)
const requestBody = { model: 'same', big: 1, messages: [{ role: 'user', content: prose }], user: 'u' }
/** Contains white space and an integer that `JSON.parse` does not preserve. */
const written = JSON.stringify(requestBody, null, 1).replace('"big": 1', '"big" : 12345678901234567890')

function setUp(more: Partial<GatewayConfig> = {}, answer: object = completion) {
  const sent: string[] = []
  const finished: FinishEvent[] = []
  const gateway = createGateway({
    auth: 'none',
    logger: false,
    upstreams: {
      a: openai({ apiKey: 'k' }),
      m: anthropic({ apiKey: 'k' }),
      old: openaiCompatible({
        baseURL: 'http://old.example',
        quirks: { maxTokensField: 'max_tokens', developerRole: 'system', lacks: { user: 'refused' } },
      }),
    },
    models: {
      same: 'a',
      named: { upstream: 'a', model: 'real' },
      old: { upstream: 'old', model: 'real' },
      other: { upstream: 'm', model: 'claude-x' },
      both: [{ upstream: 'm', model: 'claude-x', when: 'images' }, 'a'],
    },
    plugins: [{ name: 'p', onFinish: (event) => void finished.push(event) }],
    fetch: async (_url, init) => {
      const body = init?.body as string | Uint8Array
      sent.push(typeof body === 'string' ? body : new TextDecoder().decode(body))
      return Response.json(answer)
    },
    ...more,
  })
  const post = (body: string | Uint8Array) =>
    gateway.fetch('http://gw/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: body as BodyInit,
    })
  return { post, sent, finished }
}

describe('a large request', () => {
  it.each([
    ['byte for byte', 'same', written],
    ['with only the model name replaced', 'named', written.replace('"same"', '"real"')],
  ])('is forwarded %s', async (_name, model, wanted) => {
    const { post, sent } = setUp()
    expect((await post(wanted.replaceAll('"real"', `"${model}"`).replace('"same"', `"${model}"`))).status).toBe(200)
    expect(sent).toEqual([wanted.replace('"same"', `"${model}"`)])
  })

  it('is adapted to the quirks of its upstream with losses reported', async () => {
    const { post, sent } = setUp()
    const messages = [{ role: 'developer', content: prose }]
    const answer = await post(JSON.stringify({ ...requestBody, model: 'old', max_completion_tokens: 9, messages }))
    const { user: _user, ...rest } = requestBody
    const fitted = { ...rest, model: 'real', max_tokens: 9, messages: [{ role: 'system', content: prose }] }
    expect(JSON.parse(sent[0] ?? '')).toEqual(fitted)
    expect(answer.headers.get('modelgate-loss')).toContain('"/user"')
  })

  it('requests usage if it streams', async () => {
    const { post, sent } = setUp()
    await post(written.replace('"model"', '"stream":true,"model"'))
    expect(JSON.parse(sent[0] ?? '')).toEqual({
      ...JSON.parse(written),
      stream: true,
      stream_options: { include_usage: true },
    })
  })

  it.each(['other', 'both'])('is parsed completely for a target that needs all of it: %s', async (model) => {
    const { post, sent } = setUp()
    await post(JSON.stringify({ ...requestBody, model }))
    expect(sent[0]).toContain(JSON.stringify(prose))
  })

  it.each<[string, string | Uint8Array, object]>([
    [
      'invalid UTF-8',
      Uint8Array.from([...new TextEncoder().encode(written)].map((byte) => (byte === 0xf0 ? 0xf8 : byte))),
      {
        message: 'The request body is not valid UTF-8.',
      },
    ],
    ['invalid JSON', written.slice(0, -1), { message: expect.stringContaining('not valid JSON') }],
    ['a broken escape', written.replace('\\n', '\\x'), { message: expect.stringContaining('not valid JSON') }],
    [
      'a value nested too deeply',
      written.replace('"u"', `${'['.repeat(200)}${']'.repeat(200)}`),
      {
        message: expect.stringContaining('nested deeper'),
      },
    ],
    ['a message with an invalid role', written.replace('"role": "user"', '"role": 5'), { param: 'messages.0.role' }],
    [
      'a long text in a numeric field',
      JSON.stringify({ ...requestBody, temperature: prose }),
      { param: 'temperature' },
    ],
  ])('is rejected with 400 if it contains %s', async (_name, body, error) => {
    const { post, sent } = setUp()
    const answer = await post(body)
    expect(answer.status).toBe(400)
    expect(((await answer.json()) as { error: object }).error).toMatchObject(error)
    expect(sent).toEqual([])
  })

  it('is passed to plugins as a complete value', async () => {
    const seen: RequestEvent[] = []
    const { post } = setUp({ plugins: [{ name: 'p', onRequest: (event) => void seen.push(event) }] })
    await post(written)
    expect(structuredClone(seen[0]?.body)).toEqual(JSON.parse(written))
  })

  it('has the same token estimate before and after a call whose upstream reports no usage', async () => {
    const { usage: _usage, ...uncounted } = completion
    const before: number[] = []
    const { post, finished } = setUp({}, uncounted)
    await post(written)
    const whole = setUp({
      plugins: [{ name: 'p', admit: (call) => void before.push(call.estimate().input) }],
    })
    await whole.post(written)
    expect(finished[0]).toMatchObject({ basis: 'estimated', usage: { input: { total: before[0] } } })
    expect(before[0]).toBeGreaterThan(written.length / 4)
  })
})
