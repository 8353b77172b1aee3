import { describe, expect, it } from 'vitest'
import {
  asJson,
  asStream,
  chunk,
  completion,
  generated,
  generatedEvents,
  message,
  setUp,
  sse,
} from '../../gateway/create-gateway.test-support.ts'
import { openaiCompatible } from '../../upstreams/openai-compatible.ts'

const answer = {
  id: 'cmpl-1',
  object: 'text_completion',
  created: 1,
  model: 'real',
  choices: [{ text: 'hello', index: 0, logprobs: null, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
}
const piece = (text: string, finish: string | null = null) =>
  `data: {"id":"c","object":"text_completion","created":1,"model":"real","choices":[{"text":"${text}","index":0,"logprobs":null,"finish_reason":${JSON.stringify(finish)}}]}\n\n`

const path = '/v1/completions'
const eventsOf = (text: string) =>
  text
    .split('\n\n')
    .filter((block) => block.startsWith('data: {'))
    .map((block) => JSON.parse(block.slice(6)))
const textOf = (text: string) =>
  eventsOf(text)
    .flatMap(({ choices }) => choices)
    .map((choice) => choice.text)
    .join('')

describe('completions that are passed through', () => {
  it('keep their bytes', async () => {
    const odd = '{ "choices":[ {} ], "big":12345678901234567890, "usage":{"prompt_tokens":1,"completion_tokens":0} }'
    const { post, seen, finished } = setUp({ a: () => new Response(odd) })
    const body = '{ "model":"alias", "prompt":[[1,2],[3]], "suffix":"h\\u00ef", "invented":12345678901234567890 }'
    const reply = await post(path, body)
    expect(await reply.text()).toBe(odd)
    expect(seen[0]).toMatchObject({ url: 'http://a/v1/completions', body: body.replace('alias', 'real') })
    expect(finished[0]).toMatchObject({ operation: 'completions', lane: 'wire', usage: { input: { total: 1 } } })
  })

  it('are streamed byte for byte while usage is read', async () => {
    const counted = `data: ${JSON.stringify({ ...answer, choices: [] })}\n\n`
    const events = [piece('hel'), piece('lo', 'length'), counted, 'data: [DONE]\n\n']
    const { post, finished } = setUp({ a: asStream(events) })
    const reply = await post(path, { model: 'real', prompt: 'x', stream: true })
    expect(await reply.text()).toBe(events.join(''))
    expect(finished[0]).toMatchObject({ stream: true, outcome: 'finished', usage: { output: { total: 1 } } })
  })

  it.each([
    ['breaks off', [piece('hel')]],
    ['sends an error event', [piece('hel'), 'data: {"error":{"message":"broken"}}\n\n']],
  ])('end in an error if the upstream %s', async (_, events) => {
    const { post, finished } = setUp({ a: asStream(events) })
    const text = await (await post(path, { model: 'real', prompt: 'x', stream: true })).text()
    expect(text.startsWith(piece('hel'))).toBe(true)
    expect(eventsOf(text).at(-1)).toHaveProperty('error.message')
    expect(text).not.toContain('[DONE]')
    expect(finished[0]).toMatchObject({ outcome: 'failed' })
  })

  it('are kept alive by comments, because clients read an empty chunk as text', async () => {
    const events = [piece('a'), piece('b', 'stop'), 'data: [DONE]\n\n']
    const { post } = setUp({ a: asStream(events, 60) }, { limits: { heartbeatMs: 20 } })
    const text = await (await post(path, { model: 'real', prompt: 'x', stream: true })).text()
    expect(text).toContain(': keep-alive')
    expect(textOf(text)).toBe('ab')
  })
})

const chatty = {
  upstreams: { a: openaiCompatible({ baseURL: 'http://a/v1', apiKey: 'sk-canary-aaaaaaaa' }) },
  models: { real: 'a' },
} as never

describe('completions that are translated to chat', () => {
  it.each([
    ['a', 'real', completion, { messages: [{ role: 'user', content: 'once' }], max_tokens: 9, stop: ['x'] }],
    ['m', 'claude-x', message, { messages: [{ role: 'user', content: 'once' }], max_tokens: 9, stop_sequences: ['x'] }],
    ['g', 'gemini-x', generated, { generationConfig: { maxOutputTokens: 9, stopSequences: ['x'] } }],
  ])('become a user message of a chat request: %s', async (host, model, body, requested) => {
    const { post, seen, finished } = setUp({ [host]: asJson(body) }, host === 'a' ? chatty : {})
    const reply = await post(path, { model, prompt: ['once'], max_tokens: 9, stop: 'x', temperature: 0.5 })
    expect(await reply.json()).toEqual({
      ...answer,
      id: expect.any(String),
      created: expect.any(Number),
      model: expect.any(String),
      usage: expect.objectContaining(answer.usage),
    })
    expect(JSON.parse(seen[0]?.body ?? '')).toMatchObject(requested)
    expect(reply.headers.get('modelgate-loss')).toBe('"/prompt";kind=approximated;severity=note')
    expect(finished[0]).toMatchObject({ operation: 'completions', lane: 'translate', usage: { input: { total: 3 } } })
  })

  it.each([
    ['a', 'real', sse],
    ['g', 'gemini-x', generatedEvents],
  ])('are streamed as chunks of text: %s', async (host, model, events) => {
    const { post, finished } = setUp({ [host]: asStream(events) }, host === 'a' ? chatty : {})
    const reply = await post(path, { model, prompt: 'once', echo: true, stream: true })
    const text = await reply.text()
    expect(textOf(text)).toBe('oncehello')
    const chunks = eventsOf(text)
    expect(new Set(chunks.map(({ id, object }) => `${id} ${object}`)).size).toBe(1)
    expect(chunks[0]).toMatchObject({ object: 'text_completion', model: expect.any(String) })
    expect(chunks.at(-1).choices[0]).toEqual({ text: '', index: 0, logprobs: null, finish_reason: 'stop' })
    expect(chunks.some((one) => 'usage' in one)).toBe(false)
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true)
    expect(finished[0]).toMatchObject({ stream: true, outcome: 'finished' })
  })

  it('include usage in the last chunk if the client requests it', async () => {
    const { post } = setUp({ g: asStream(generatedEvents) })
    const requested = { model: 'gemini-x', prompt: 'once', stream: true, stream_options: { include_usage: true } }
    const chunks = eventsOf(await (await post(path, requested)).text())
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: answer.usage })
    expect(chunks[0].usage).toBeNull()
  })

  it('end in an error if the upstream breaks off', async () => {
    const { post } = setUp({ a: asStream(sse.slice(0, 2)) }, chatty)
    const text = await (await post(path, { model: 'real', prompt: 'once', stream: true })).text()
    expect(eventsOf(text).at(-1)).toMatchObject({ error: { code: 'upstream_truncated' } })
    expect(text).not.toContain('[DONE]')
  })

  const probabilities = {
    content: [
      { token: 'he', logprob: -0.5, bytes: null, top_logprobs: [{ token: 'he', logprob: -0.5 }] },
      { token: 'llo', logprob: -0.25, bytes: null, top_logprobs: [{ token: 'llo', logprob: -0.25 }] },
    ],
    refusal: null,
  }
  const lists = {
    tokens: ['he', 'llo'],
    token_logprobs: [-0.5, -0.25],
    top_logprobs: [{ he: -0.5 }, { llo: -0.25 }],
  }
  it('keep n, echo and log probabilities', async () => {
    const choices = [0, 1].map((index) => ({ ...completion.choices[0], index, logprobs: probabilities }))
    const { post, seen } = setUp({ a: asJson({ ...completion, choices }) }, chatty)
    const reply = await post(path, { model: 'real', prompt: 'once ', n: 2, echo: true, logprobs: 1, max_tokens: 5 })
    expect(JSON.parse(seen[0]?.body ?? '')).toMatchObject({ n: 2, logprobs: true, top_logprobs: 1 })
    expect((await reply.json()).choices).toEqual(
      [0, 1].map((index) => ({
        text: 'once hello',
        index,
        logprobs: { ...lists, text_offset: [5, 7] },
        finish_reason: 'stop',
      })),
    )
    expect(reply.headers.get('modelgate-loss')).toContain('"/logprobs";kind=approximated;severity=warn')
  })

  it('keep log probabilities in a stream', async () => {
    const logprobsOf = (token: number) => ({ content: [probabilities.content[token]], refusal: null })
    const events = [0, 1].map((token) => {
      const event = JSON.parse(chunk({ content: lists.tokens[token] }).slice(6))
      event.choices[0].logprobs = logprobsOf(token)
      return `data: ${JSON.stringify(event)}\n\n`
    })
    const { post } = setUp({ a: asStream([...events, ...sse.slice(-2)]) }, chatty)
    const requested = { model: 'real', prompt: 'once', logprobs: 1, stream: true }
    const chunks = eventsOf(await (await post(path, requested)).text())
    const logprobs = chunks.map(({ choices }) => choices[0].logprobs).filter((one) => one !== null)
    expect(logprobs.flatMap(({ tokens }) => tokens)).toEqual(lists.tokens)
    expect(logprobs.flatMap(({ text_offset }) => text_offset)).toEqual([0, 2])
  })

  it.each([
    [{ suffix: ' end' }, '"/suffix";kind=unsupported;severity=warn'],
    [{ best_of: 3 }, '"/best_of";kind=unsupported;severity=warn'],
    [{ max_tokens: undefined }, '"/max_tokens";kind=approximated;severity=note'],
    [{ logit_bias: { '50256': -100 } }, '"/logit_bias";kind=unsupported;severity=warn'],
    [{ invented: 1 }, '"/invented";kind=unsupported;severity=warn'],
  ])('report the losses of %j', async (extra, losses) => {
    const { post } = setUp({ m: asJson(message) })
    const reply = await post(path, { model: 'claude-x', prompt: 'once', max_tokens: 5, ...extra })
    expect(reply.status).toBe(200)
    expect(reply.headers.get('modelgate-loss')).toContain(losses)
  })

  it.each([
    [{ prompt: [1, 2] }, 'prompt'],
    [{ prompt: [[1, 2]] }, 'prompt'],
    [{ prompt: ['a', 'b'] }, 'prompt'],
    [{ prompt: '' }, 'prompt'],
    [{ prompt: null }, 'prompt'],
    [{ prompt: 'x', max_tokens: 0 }, 'max_tokens'],
    [{ prompt: 'x', n: 2 }, 'n'],
  ])('reject %j, which chat cannot express', async (body, param) => {
    const { post, seen } = setUp({ m: asJson(message) })
    const reply = await post(path, { model: 'claude-x', ...body })
    expect([reply.status, seen.length]).toEqual([400, 0])
    expect(await reply.json()).toMatchObject({ error: { param } })
  })

  it('name the client’s own field in an upstream’s error', async () => {
    const { post } = setUp(
      {
        a: asJson(
          { error: { message: 'too long', param: 'messages', code: 'context_length_exceeded' } },
          { status: 400 },
        ),
      },
      chatty,
    )
    const reply = await post(path, { model: 'real', prompt: 'x' })
    expect(await reply.json()).toMatchObject({ error: { message: 'too long', param: 'prompt' } })
  })
})

describe('completions', () => {
  it.each([
    [{ prompt: 'x' }, 'model'],
    [{ model: 'real' }, 'prompt'],
    [{ model: 'real', prompt: 5 }, 'prompt'],
    [{ model: 'real', prompt: [] }, 'prompt'],
    [{ model: 'real', prompt: ['a', 1] }, 'prompt.1'],
    [{ model: 'real', prompt: 'x', max_tokens: -1 }, 'max_tokens'],
    [{ model: 'real', prompt: 'x', temperature: 3 }, 'temperature'],
    [{ model: 'real', prompt: 'x', n: 0 }, 'n'],
    [{ model: 'real', prompt: 'x', best_of: 21 }, 'best_of'],
    [{ model: 'real', prompt: 'x', logprobs: true }, 'logprobs'],
    [{ model: 'real', prompt: 'x', stop: 5 }, 'stop'],
    [{ model: 'real', prompt: 'x', stream: 'yes' }, 'stream'],
    [{ model: 'real', prompt: 'x', suffix: 5 }, 'suffix'],
    [{ model: 'real', prompt: 'x', logit_bias: { a: 'b' } }, 'logit_bias.a'],
  ])('reject %j with the parameter %s', async (body, param) => {
    const { post, seen } = setUp({ a: asJson(answer) })
    const reply = await post(path, body)
    expect([reply.status, seen.length]).toEqual([400, 0])
    expect(await reply.json()).toMatchObject({ error: { param, type: 'invalid_request_error' } })
  })
})
