import { describe, expect, it } from 'vitest'
import { asJson, asStream, message, setUp } from '../../../gateway/create-gateway.test-support.ts'
import { openaiCompatible } from '../../../upstreams/openai-compatible.ts'
import { openSummary, sealSummary } from './seal.ts'

const summary = asJson({ ...message, content: [{ type: 'text', text: 'Ada wants a boat.' }] })
const cutOff = asJson({ ...message, stop_reason: 'max_tokens' })
const silent = asJson({ ...message, content: [] })
const secret = 'a secret of at least 32 characters.'
const item = { type: 'compaction', id: 'cmp_1', encrypted_content: 'theirs' }
const native = {
  id: 'resp_n',
  object: 'response',
  created_at: 1,
  status: 'completed',
  model: 'm',
  output: [item],
  usage: { input_tokens: 3, output_tokens: 1, total_tokens: 4 },
}
const conversation = [
  { role: 'developer', content: 'Be kind.' },
  { role: 'user', content: 'I want a boat.' },
  { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{}' },
  { type: 'function_call_output', call_id: 'c1', output: 'a red boat' },
]
const trigger = { type: 'compaction_trigger' }
const tools = [{ type: 'function', name: 'look', parameters: { type: 'object', properties: {} }, strict: false }]

interface Body {
  id: string
  object: string
  output: { type: string; encrypted_content: string; role?: string }[]
  usage: { input_tokens: number; output_tokens: number }
  error: { message: string; code: string; param: string }
}

function setUpCompaction(answers: Parameters<typeof setUp>[0], config: Parameters<typeof setUp>[1] = {}) {
  const setting = setUp(answers, { auth: (token) => ({ id: token }), ...config })
  const post = (path: string, body: object, token = 'ann', headers: Record<string, string> = {}) =>
    setting.post(path, body, { authorization: `Bearer ${token}`, ...headers })
  const compact = async (body: object = {}, token = 'ann') => {
    const reply = await post('/v1/responses/compact', { model: 'claude-x', input: conversation, ...body }, token)
    return { status: reply.status, headers: reply.headers, body: (await reply.json()) as Body }
  }
  const ask = async (body: object = {}, token = 'ann', headers: Record<string, string> = {}) => {
    const whole = { model: 'claude-x', input: [...conversation, trigger], tools, ...body }
    const reply = await post('/v1/responses', whole, token, headers)
    return { status: reply.status, headers: reply.headers, body: (await reply.json()) as Body }
  }
  const sent = (): string => setting.seen.at(-1)?.body ?? ''
  return { ...setting, post, compact, ask, sent }
}

/** An upstream of the responses format that compacts in some ways. */
const compacting = (compaction: readonly ('path' | 'trigger')[]) => ({
  upstreams: {
    b: openaiCompatible({ apiKey: 'sk-canary-bbbbbbbb', baseURL: 'http://b/v1', formats: ['responses'], compaction }),
  },
  models: { m: 'b' },
})

describe('an upstream that compacts', () => {
  it('gets a request with the trigger unchanged', async () => {
    const { ask, sent } = setUpCompaction({ b: asJson(native) }, compacting(['trigger']))
    const { body } = await ask({ model: 'm' })
    expect(body).toEqual(native)
    expect(JSON.parse(sent())).toEqual({ model: 'm', input: [...conversation, trigger], tools })
  })

  it('gets a request to its endpoint unchanged, and its window passes', async () => {
    const window = { id: 'resp_w', object: 'response.compaction', created_at: 1, output: [item], usage: native.usage }
    const { compact, sent, seen, finished } = setUpCompaction({ b: asJson(window) }, compacting(['path']))
    expect((await compact({ model: 'm' })).body).toEqual(window)
    expect(seen[0]?.url).toBe('http://b/v1/responses/compact')
    expect(JSON.parse(sent())).toEqual({ model: 'm', input: conversation })
    expect(finished[0]).toMatchObject({ outcome: 'finished', usage: { input: { total: 3 }, output: { total: 1 } } })
  })

  it('gets a request for a summary in a way that it does not support', async () => {
    const text = { type: 'message', id: 'msg_1', role: 'assistant', content: [{ type: 'output_text', text: 'short' }] }
    const setting = setUpCompaction({ b: asJson({ ...native, output: [text] }) }, compacting(['path']))
    const { body } = await setting.ask({
      model: 'm',
      stream_options: undefined,
      text: { format: { type: 'json_object' } },
    })
    expect(body.output).toEqual([expect.objectContaining({ type: 'compaction' })])
    expect(JSON.parse(setting.sent())).toMatchObject({ store: false, tool_choice: 'none', text: {} })
    expect(setting.sent()).not.toContain('compaction_trigger')
  })
})

describe('a summary of the gateway', () => {
  it('replaces the conversation in the response to a trigger, and is reported and accounted', async () => {
    const { ask, sent, finished } = setUpCompaction({ m: summary })
    const { status, headers, body } = await ask()
    expect([status, body.output.length, body.output[0]?.type]).toEqual([200, 1, 'compaction'])
    expect(body.usage).toMatchObject({ input_tokens: 3, output_tokens: 1 })
    expect(headers.get('modelgate-loss')).toContain('/input')
    expect(sent()).toMatch(/a red boat.*Write only the summary/)
    expect(finished).toMatchObject([{ outcome: 'finished', usage: { input: { total: 3 }, output: { total: 1 } } }])
    expect(body.output[0]?.encrypted_content).not.toContain(btoa('Ada wants a boat.').slice(0, 12))
  })

  it('is read by every later model of the same caller, as a message of the user', async () => {
    const { ask, post, sent } = setUpCompaction({ m: summary })
    const { output } = (await ask()).body
    await post('/v1/responses', { model: 'claude-x', input: [...output, { role: 'user', content: 'Go on.' }] })
    const { messages } = JSON.parse(sent())
    expect(JSON.stringify(messages)).toMatch(/summary that replaces it.*Ada wants a boat.*Go on/)
    expect(messages[0].role).toBe('user')
  })

  it.each([
    ['another caller', 'bob', (sealed: string) => sealed],
    ['a caller who changed it', 'ann', (sealed: string) => `${sealed.slice(0, -6)}AAAAAA`],
    ['a caller who cut it', 'ann', (sealed: string) => sealed.slice(0, 20)],
  ])('is rejected from %s on every route', async (_, token, change) => {
    const { ask, post, seen } = setUpCompaction({ m: summary })
    const [compacted] = (await ask()).body.output
    // Without the id, whose owner is known.
    const input = [{ ...compacted, id: 'cmp_new', encrypted_content: change(compacted?.encrypted_content ?? '') }]
    for (const path of ['/v1/responses', '/v1/responses/compact', '/v1/responses/input_tokens']) {
      const reply = await post(path, { model: 'claude-x', input }, token)
      expect([path, reply.status]).toEqual([path, 400])
      const { error } = (await reply.json()) as Body
      expect(error).toMatchObject({ code: 'invalid_encrypted_content', param: 'input[0].encrypted_content' })
    }
    expect(seen).toHaveLength(1)
  })

  it('is the last item of the window, after the messages of the user', async () => {
    const { compact } = setUpCompaction({ m: summary })
    const first = (await compact()).body
    expect(first.object).toBe('response.compaction')
    expect(first.output.map(({ type, role }) => role ?? type)).toEqual(['user', 'compaction'])
    const second = (await compact({ input: [...first.output, { role: 'user', content: 'More.' }] })).body
    expect(second.output.map(({ type, role }) => role ?? type)).toEqual(['user', 'user', 'compaction'])
    const third = (await compact({ input: 'Only this.' })).body
    expect(third.output.map(({ type, role }) => role ?? type)).toEqual(['user', 'compaction'])
  })

  it('is continued by the id of its response, without what it replaces', async () => {
    const { ask, post, sent } = setUpCompaction({ m: summary })
    const { id } = (await ask()).body
    await post('/v1/responses', { model: 'claude-x', input: 'Go on.', previous_response_id: id })
    expect(sent()).toMatch(/I want a boat.*Ada wants a boat.*Go on/)
    expect(sent()).not.toMatch(/a red boat|compaction_trigger/)
  })

  it('arrives as the events of a provider that compacts', async () => {
    const { post, finished } = setUpCompaction({ m: summary })
    const input = [...conversation, trigger]
    const reply = await post('/v1/responses', { model: 'claude-x', input, stream: true })
    expect(reply.headers.get('content-type')).toContain('text/event-stream')
    const text = await reply.text()
    expect(text.match(/^event: .*$/gm)).toEqual(
      ['created', 'in_progress', 'output_item.added', 'output_item.done', 'completed'].map(
        (name) => `event: response.${name}`,
      ),
    )
    expect(finished).toMatchObject([{ outcome: 'finished', stream: true }])
  })

  it.each([
    ['cut off', cutOff],
    ['empty', silent],
    ['no JSON', asStream(['oh no'])],
  ])('that is %s fails the call, streamed or not', async (_, answer) => {
    for (const stream of [false, true]) {
      const { post, finished } = setUpCompaction({ m: answer }, { retry: false })
      const input = [...conversation, trigger]
      const reply = await post('/v1/responses', { model: 'claude-x', input, stream })
      expect(reply.status).toBe(502)
      await reply.text()
      expect(finished).toMatchObject([{ outcome: 'failed', error: { info: { kind: 'upstream_bad_response' } } }])
    }
  })

  it('is refused by a strict loss policy and by the configuration, before any call', async () => {
    const strict = setUpCompaction({ m: summary })
    const rejected = await strict.ask({}, 'ann', { 'modelgate-on-loss': 'reject' })
    expect(rejected.body.error.message).toContain('a summary by a model replaces the conversation')
    const refusing = setUpCompaction({ m: summary }, { compaction: 'refuse' })
    for (const { status, body } of [await refusing.ask(), await refusing.compact()]) {
      expect(status).toBe(400)
      expect(body.error.message).toContain("compaction: 'refuse'")
    }
    expect([...strict.seen, ...refusing.seen]).toEqual([])
  })

  it('is written by the configured model with the configured prompt, also for callers that may not use it', async () => {
    const compaction = { model: 'small', prompt: 'Shorten it.', secret }
    const { ask, sent } = setUpCompaction(
      { m: summary },
      {
        auth: (token) => ({ id: token, models: ['claude-x'] }),
        models: { 'claude-x': 'm', small: { upstream: 'm', model: 'claude-small' } },
        compaction,
      },
    )
    expect((await ask()).status).toBe(200)
    expect(JSON.parse(sent())).toMatchObject({ model: 'claude-small' })
    expect(sent()).toContain('Shorten it.')
  })

  it('calls no upstream for a model that the caller may not use', async () => {
    const { ask, compact, seen } = setUpCompaction({ m: summary }, { auth: (id) => ({ id, models: ['other'] }) })
    expect([(await ask()).status, (await compact()).status]).toEqual([404, 404])
    expect(seen).toEqual([])
  })
})

it('rejects settings of compaction that cannot work, without the secret in the message', () => {
  const start = (compaction: object | string) => () => setUp({}, { compaction: compaction as { model: string } })
  expect(start({ model: 'unknown' })).toThrow("compaction.model is 'unknown'")
  expect(start({ promt: 'x' })).toThrow('compaction.promt is unknown')
  expect(start({ prompt: ' ' })).toThrow('compaction.prompt is not a text')
  expect(start({ secret: 'short-canary' })).toThrow('compaction.secret must be a text of at least 32 characters')
  expect(start({ secret: 'short-canary' })).not.toThrow('short-canary')
  expect(start('always')).toThrow("compaction is always: write { model, prompt, secret }, or 'refuse'")
})

describe('the seal of a summary', () => {
  it('opens with the same owner and secret only', async () => {
    const sealed = await sealSummary('Grüße', 'ann', secret)
    expect(await openSummary(sealed, 'ann', secret)).toBe('Grüße')
    expect(await openSummary(sealed, 'bob', secret)).toBeUndefined()
    expect(await openSummary(sealed, 'ann', `${secret}!`)).toBeUndefined()
    expect(await openSummary(sealed, 'ann', undefined)).toBeUndefined()
  })

  it('differs each time, and opens without a configured secret in the same process', async () => {
    const [one, two] = [await sealSummary('x', 'ann', undefined), await sealSummary('x', 'ann', undefined)]
    expect(one).not.toBe(two)
    expect(await openSummary(two, 'ann', undefined)).toBe('x')
  })
})
