import { describe, expect, it, vi } from 'vitest'
import { isItemReference, isStoredUri, lacksContent, referencePlaces } from '../../formats/references/places.ts'
import { asJson, asStream, completion, generated, message, setUp } from '../../gateway/create-gateway.test-support.ts'
import { createGateway } from '../../gateway/create-gateway.ts'
import { openai } from '../../upstreams/openai.ts'
import { memoryResponseStore } from '../responses/store.ts'

const event = (type: string, rest: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`
const auth = (token: string) => ({ id: token })
const as = (token: string) => ({ authorization: `Bearer ${token}`, 'anthropic-version': '2023-06-01' })
const hello = { messages: [{ role: 'user', content: 'hi' }] }
const gateway = (config: object) =>
  createGateway({
    auth,
    upstreams: { a: openai({ apiKey: 'k', baseURL: 'http://a/v1' }) },
    models: { '*': 'a' },
    logger: false,
    ...config,
  })

it.each(Object.entries(referencePlaces))(
  'a body of %s has a place for the files of each prompt template',
  (_, places) => {
    const pathsOf = (wanted: string) => places.filter(({ kind }) => kind === wanted).map(({ path }) => path)
    const files = pathsOf('files')
    for (const path of pathsOf('prompts')) expect(files).toContain(path.replace(/id$/, 'variables.*.file_id'))
  },
)

describe('the setting `references`', () => {
  it.each([
    [{ file: 'pass' }, 'references.file is unknown'],
    [{ files: 'all' }, "write 'own', 'pass', or a list of ids"],
    [{ files: ['a', 1] }, "write 'own', 'pass', or a list of ids"],
    [['files'], 'references is not an object'],
  ])('is rejected with the fix if it is invalid: %j', (references, words) => {
    expect(() => gateway({ references })).toThrow(words)
  })

  it('accepts unknown ids only of the configured kinds', async () => {
    const { messages, seen } = setUp({ m: asJson(message) }, { references: { containers: 'pass' } })
    expect((await messages({ container: 'container_1' })).status).toBe(200)
    const file = { type: 'document', source: { type: 'file', file_id: 'file_1' } }
    const refused = await messages({ messages: [{ role: 'user', content: [file] }] })
    expect(refused.status).toBe(400)
    expect((await refused.json()).error.message).toMatch(
      /^messages\[0\]\.content\[0\]\.source\.file_id: stored file with id 'file_1' not found\..*'references\.files'/,
    )
    expect(seen).toHaveLength(1)
  })
})

describe('a container in a response', () => {
  const container = { id: 'container_1', expires_at: '2027-01-01T00:00:00Z' }
  const streamed = [
    event('message_start', { message: { ...message, content: [], stop_reason: null } }),
    event('message_delta', { delta: { stop_reason: 'end_turn', container }, usage: { output_tokens: 1 } }),
    event('message_stop', {}),
  ]
  it.each([false, true])('belongs only to the caller of that response, streamed: %s', async (stream) => {
    const { post, seen } = setUp({ m: stream ? asStream(streamed) : asJson({ ...message, container }) }, { auth })
    const ask = async (body: object, token: string) => {
      const reply = await post(
        '/v1/messages',
        { model: 'claude-x', max_tokens: 5, stream, ...hello, ...body },
        as(token),
      )
      await reply.text()
      return reply.status
    }
    expect(await ask({ container: 'container_1' }, 'ann')).toBe(400)
    expect(await ask({}, 'ann')).toBe(200)
    expect(await ask({ container: 'container_1' }, 'ann')).toBe(200)
    expect(await ask({ container: { id: 'container_1' } }, 'ann')).toBe(200)
    expect(await ask({ container: 'container_1' }, 'bob')).toBe(400)
    expect(seen).toHaveLength(3)
  })
})

describe('a URL of a stored file in another format', () => {
  it.each([
    ['gs://bucket/cat.png', 400],
    ['https://generativelanguage.googleapis.com/v1beta/files/abc', 400],
    ['https://example.com/cat.png', 200],
  ])('like %s results in %i', async (url, status) => {
    const { chat, seen } = setUp({ g: asJson(generated) })
    const content = [{ type: 'image_url', image_url: { url } }]
    expect((await chat({ model: 'gemini-x', messages: [{ role: 'user', content }] })).status).toBe(status)
    expect(seen).toHaveLength(status === 200 ? 1 : 0)
  })

  it.each([
    ['https://x@generativelanguage.googleapis.com:443/v1beta/files/abc', true],
    ['HTTPS://GenerativeLanguage.GoogleAPIs.com./files/abc', true],
    ['files/abc', true],
    ['s3://bucket/key', true],
    ['https://', true],
    ['https://www.youtube.com/watch?v=1', false],
    ['data:image/png;base64,AAAA', false],
  ])('is detected in %s: %s', (uri, isStored) => {
    expect(isStoredUri(uri)).toBe(isStored)
  })
})

describe('an item without content', () => {
  const input = [
    { role: 'user', content: 'hi' },
    { type: 'reasoning', id: 'rs_1', summary: [] },
    { role: 'user', content: 'go on' },
  ]
  it('is not sent to an upstream that could store it for another caller', async () => {
    const { post, seen } = setUp({ a: asJson({ id: 'resp_1', object: 'response', status: 'completed', output: [] }) })
    const refused = await post('/v1/responses', { model: 'real', input })
    expect(refused.status).toBe(400)
    expect((await refused.json()).error.message).toContain("Item with id 'rs_1' not found")
    expect(seen).toHaveLength(0)
    const sealed = input.map((item) => ('summary' in item ? { ...item, encrypted_content: 'x' } : item))
    expect((await post('/v1/responses', { model: 'real', input: sealed })).status).toBe(200)
  })

  it('does not keep a request from an upstream of another format', async () => {
    const { post } = setUp({ m: asJson(message) })
    expect((await post('/v1/responses', { model: 'claude-x', input })).status).toBe(200)
  })

  it('is accepted from the caller for whom it was created', async () => {
    const output = [{ type: 'reasoning', id: 'rs_1', summary: [] }]
    const { post } = setUp({ a: asJson({ id: 'resp_1', object: 'response', status: 'completed', output }) }, { auth })
    expect((await post('/v1/responses', { model: 'real', input: 'hi' }, as('ann'))).status).toBe(200)
    expect((await post('/v1/responses', { model: 'real', input }, as('ann'))).status).toBe(200)
    const reference = { model: 'real', input: [{ type: 'item_reference', id: 'rs_1' }] }
    expect((await post('/v1/responses', reference, as('ann'))).status).toBe(200)
    expect((await post('/v1/responses', reference, as('bob'))).status).toBe(400)
  })
})

describe('a member with a reference', () => {
  const response = { id: 'resp_up', object: 'response', status: 'completed', output: [] }
  it.each([
    '{"model":"real","input":"x","Previous_Response_Id":"a"}',
    '{"model":"real","input":"x","conversation":null,"CONVERSATION":"a"}',
    '{"model":"real","input":"x","prompt":{"id":"a"},"prompt":null}',
    '{"model":"real","input":"x","tools":[{"type":"code_interpreter","container":"a"}],"tools":[]}',
    '{"model":"real","input":"x","background":true,"background":false}',
    // No other code checks these types.
    '{"model":"real","input":"x","prompt":{"id":["a"]}}',
    '{"model":"real","input":"x","previous_response_id":{"id":"a"}}',
    '{"model":"real","input":"x","background":"true"}',
  ])('is rejected if it is a duplicate, in another case or not a string: %s', async (body) => {
    for (const responses of [{ store: memoryResponseStore() }, { store: false as const }]) {
      const { post, seen } = setUp({ a: asJson(response) }, { responses })
      expect((await post('/v1/responses', body)).status).toBe(400)
      expect(seen).toHaveLength(0)
    }
  })

  it('is accepted in tool arguments and schemas, where it has no meaning', async () => {
    const { messages, chat } = setUp({ m: asJson(message), a: asJson(completion) })
    const input = { file_id: 'f', File_Id: 'g', container: 'c' }
    const call = { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'f', input }] }
    const result = {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'file_id": "x"' }],
    }
    expect((await messages({ messages: [...hello.messages, call, result] })).status).toBe(200)
    const parameters = { type: 'object', properties: { file_id: { type: 'string', default: 'f' } } }
    expect((await chat({ tools: [{ type: 'function', function: { name: 'f', parameters } }] })).status).toBe(200)
  })
})

describe('the default store', () => {
  const words = /kept in the memory of this process and lost when it ends/
  it('causes one warning for each logger', () => {
    const logger = { warn: vi.fn(), error: vi.fn() }
    const one = gateway({ logger })
    gateway({ logger })
    one.reconfigure({ auth, upstreams: { a: openai({ apiKey: 'k' }) }, models: { '*': 'a' }, logger })
    expect(logger.warn.mock.calls).toEqual([[expect.stringMatching(words)]])
  })

  it.each([
    ['the host configures it', { responses: { store: memoryResponseStore() } }],
    ['storing is disabled', { responses: { store: false } }],
    ["auth is 'none'", { auth: 'none' }],
  ])('causes no warning if %s', (_, config) => {
    const logger = { warn: vi.fn(), error: vi.fn() }
    gateway({ logger, ...config })
    expect(logger.warn).not.toHaveBeenCalled()
  })
})

describe('an item of Responses', () => {
  it.each([
    [{ id: 'msg_1', type: null }, true, false],
    [{ id: 'msg_1', status: 'completed' }, true, false],
    [{ type: 'item_reference', id: 'msg_1' }, true, false],
    [{ type: 'compaction', id: 'cmp_1' }, false, true],
    [{ type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: '' }, false, true],
    [{ type: 'image_generation_call', id: 'ig_1', result: '' }, false, true],
    [{ type: 'reasoning', id: 'rs_1', summary: [], content: [{ type: 'reasoning_text', text: 'hm' }] }, false, false],
    [{ type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'sealed' }, false, false],
    [{ id: 'msg_1', role: 'assistant', content: 'Hi' }, false, false],
    [{ type: 'function_call', id: 'fc_1', call_id: 'c', name: 'f', arguments: '{}' }, false, false],
  ])('of %j is a reference: %s, lacks its content: %s', (item, refers, lacks) => {
    expect(isItemReference(item)).toBe(refers)
    expect(!isItemReference(item) && lacksContent(item)).toBe(lacks)
  })
})
