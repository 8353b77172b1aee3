import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../base/json.ts'
import { createFakeProvider } from '../../index.ts'
import { call, geminiBody, requestTo } from '../../provider/requests.test-support.ts'

const user = { role: 'user', parts: [{ text: 'Hi' }] }
const call1 = { functionCall: { name: 'f', args: {} } }
const answer1 = { functionResponse: { name: 'f', response: {} } }
const text = (parts: Json[]): JsonObject => ({ contents: [user, { role: 'model', parts }] })
const declared = (declaration: JsonObject): JsonObject => ({ tools: [{ functionDeclarations: [declaration] }] })
const config = (generationConfig: JsonObject): JsonObject => geminiBody('x', { generationConfig })
const path = '/v1beta/models/gemini-3-flash:generateContent'

const cases: [name: string, body: JsonObject, message: string][] = [
  ['no contents', {}, '* GenerateContentRequest.contents: contents is not specified\n'],
  [
    'an unknown field',
    geminiBody('x', { foo: 1 }),
    'Invalid JSON payload received. Unknown name "foo": Cannot find field.',
  ],
  [
    'all fields of another format',
    geminiBody('x', { max_tokens: 1, messages: [] }),
    'Invalid JSON payload received. Unknown name "max_tokens": Cannot find field.\nInvalid JSON payload received. Unknown name "messages": Cannot find field.',
  ],
  [
    'an unknown field in a part',
    text([{ text: 'x', cache_control: {} }]),
    'Invalid JSON payload received. Unknown name "cache_control" at \'contents[1].parts[0]\': Cannot find field.',
  ],
  [
    'a JSON schema in place of Google’s schema',
    geminiBody('x', declared({ name: 'f', parameters: { type: 'object', additionalProperties: false } })),
    'Invalid JSON payload received. Unknown name "additionalProperties" at \'tools[0].function_declarations[0].parameters\': Cannot find field.',
  ],
  [
    'a JSON schema keyword in a property',
    geminiBody(
      'x',
      declared({ name: 'f', parameters: { type: 'OBJECT', properties: { a: { type: 'STRING', $ref: '#' } } } }),
    ),
    'Invalid JSON payload received. Unknown name "$ref" at \'tools[0].function_declarations[0].parameters.properties[0].value\': Cannot find field.',
  ],
  [
    'a list of types',
    config({ responseMimeType: 'application/json', responseSchema: { type: ['string', 'null'] } }),
    'Invalid value at \'generation_config.response_schema.type\' (TYPE_ENUM), ["string","null"]',
  ],
  [
    'a wrong type',
    config({ temperature: 'hot' }),
    'Invalid value at \'generation_config.temperature\' (TYPE_FLOAT), "hot"',
  ],
  [
    'a number out of range',
    config({ temperature: 3 }),
    '* GenerateContentRequest.generation_config.temperature: temperature must be in the range [0.0, 2.0].\n',
  ],
  [
    'a token limit of zero',
    config({ maxOutputTokens: 0 }),
    '* GenerateContentRequest.generation_config.max_output_tokens: max_output_tokens must be positive.\n',
  ],
  [
    'a schema without its MIME type',
    config({ responseSchema: { type: 'OBJECT' } }),
    '* GenerateContentRequest.generation_config.response_schema: only allowed when response_mime_type is application/json.\n',
  ],
  [
    'a role of another format',
    { contents: [{ role: 'assistant', parts: [{ text: 'x' }] }] },
    'Please use a valid role: user, model.',
  ],
  [
    'no parts',
    { contents: [{ role: 'user' }] },
    '* GenerateContentRequest.contents[0].parts: contents.parts must not be empty.\n',
  ],
  [
    'an empty part',
    { contents: [{ parts: [{}] }] },
    "* GenerateContentRequest.contents[0].parts[0].data: required oneof field 'data' must have one initialized field\n",
  ],
  [
    'broken base64',
    { contents: [{ parts: [{ inlineData: { mimeType: 'image/png', data: 'a b!' } }] }] },
    'Invalid value at \'contents[0].parts[0].inline_data.data\' (TYPE_BYTES), Base64 decoding failed for "a b!"',
  ],
  [
    'a call before the first user turn',
    { contents: [{ role: 'model', parts: [call1] }] },
    'Please ensure that function call turn comes immediately after a user turn or after a function response turn.',
  ],
  [
    'a tool result without a call',
    { contents: [user, { role: 'user', parts: [answer1] }] },
    'Please ensure that function response turn comes immediately after a function call turn.',
  ],
  [
    'fewer tool results than calls',
    { contents: [user, { role: 'model', parts: [call1, call1] }, { role: 'user', parts: [answer1] }, user] },
    'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
  ],
  ['an invalid signature', text([{ text: 'x', thoughtSignature: 'QUJD' }]), 'Corrupted thought signature.'],
  [
    'a tool mode without tools',
    geminiBody('x', { toolConfig: { functionCallingConfig: { mode: 'ANY' } } }),
    'Function calling config is set without function_declarations.',
  ],
  [
    'an invalid function name',
    geminiBody('x', declared({ name: 'a b' })),
    '* GenerateContentRequest.tools[0].function_declarations[0].name: [FIELD_INVALID] Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 128.\n',
  ],
  [
    'a required property that is not declared',
    geminiBody('x', declared({ name: 'f', parameters: { type: 'OBJECT', properties: {}, required: ['a'] } })),
    '* GenerateContentRequest.tools[0].function_declarations[0].parameters.required[0]: property is not defined\n',
  ],
]

describe('invalid generateContent request', () => {
  it.each(cases)('is rejected: %s', async (_name, body, message) => {
    const response = await createFakeProvider().fetch(requestTo(path, body))
    expect(response.status).toBe(400)
    expect((await response.json()).error).toMatchObject({ code: 400, message, status: 'INVALID_ARGUMENT' })
  })

  it('is rejected with the invalid fields in the error details', async () => {
    const body = geminiBody('x', { foo: 1, generation_config: { bar: 1 } })
    const { error } = await (await createFakeProvider().fetch(requestTo(path, body))).json()
    const words = (name: string, at = '') =>
      `Invalid JSON payload received. Unknown name "${name}"${at}: Cannot find field.`
    expect(error.details).toEqual([
      {
        '@type': 'type.googleapis.com/google.rpc.BadRequest',
        fieldViolations: [
          { description: words('foo') },
          { field: 'generation_config', description: words('bar', " at 'generation_config'") },
        ],
      },
    ])
  })

  it('is rejected with an array if the response would be an array', async () => {
    const stream = path.replace('generateContent', 'streamGenerateContent')
    const [shape] = await (await createFakeProvider().fetch(requestTo(stream, {}))).json()
    expect(shape.error.code).toBe(400)
    const events = await (await createFakeProvider().fetch(requestTo(`${stream}?alt=sse`, {}))).json()
    expect(events.error.code).toBe(400)
  })
})

describe('valid generateContent request', () => {
  const spelled = (body: JsonObject) => createFakeProvider().fetch(requestTo(path, body))

  it('is accepted in either spelling', async () => {
    const snake = {
      contents: [{ parts: [{ inline_data: { mime_type: 'image/png', data: 'AAAA' } }] }],
      system_instruction: { parts: { text: 'S' } },
      generation_config: {
        max_output_tokens: '15',
        thinking_config: { thinking_level: 'low', include_thoughts: false },
      },
      tools: [{ function_declarations: [{ name: 'f', parameters_json_schema: { $ref: '#' } }] }],
      safety_settings: null,
    }
    const response = await spelled(snake)
    const answer = await response.json()
    expect(answer.candidates[0].content.parts[0].text).toContain('the image (image/png, 3 bytes)')
    expect(answer.candidates[0].finishReason).toBe('MAX_TOKENS')
  })

  it('is accepted with calls of an older model without a signature', async () => {
    const body = {
      contents: [user, { role: 'model', parts: [call1] }, { role: 'user', parts: [answer1] }],
      generationConfig: { thinkingConfig: { includeThoughts: true } },
    }
    const older = path.replace('gemini-3', 'gemini-2.5')
    expect((await createFakeProvider().fetch(requestTo(older, body))).status).toBe(200)
    const refused = await spelled(body)
    expect((await refused.json()).error.message).toContain('missing a thought_signature')
  })

  it('is accepted for token counting with any part of a conversation', async () => {
    const count = path.replace('generateContent', 'countTokens')
    const provider = createFakeProvider()
    const body = { contents: [{ role: 'user', parts: [answer1] }] }
    expect((await provider.fetch(requestTo(count, body))).status).toBe(200)
    const wrapped = { generateContentRequest: { model: 'models/x', ...geminiBody('one two') } }
    expect(await (await provider.fetch(requestTo(count, wrapped))).json()).toEqual({
      totalTokens: 5,
      promptTokensDetails: [{ modality: 'TEXT', tokenCount: 5 }],
    })
  })

  it('receives calls with an id from model generations that have ids', async () => {
    const provider = createFakeProvider()
    const body = geminiBody('[[tool:f]]', declared({ name: 'f' }))
    const callOf = async (model: string) => {
      const response = await provider.fetch(requestTo(`/v1beta/models/${model}:generateContent`, body))
      return (await response.json()).candidates[0].content.parts[0].functionCall
    }
    expect(await callOf('gemini-3.1-pro')).toEqual({ name: 'f', args: {}, id: expect.stringMatching(/^[a-z0-9]{8}$/) })
    expect(await callOf('gemini-2.5-flash')).toEqual({ name: 'f', args: {} })
  })
})

describe('authentication and routing of generateContent', () => {
  const body = JSON.stringify(geminiBody('x'))
  const send = async (url: string, headers: Record<string, string>) => {
    const provider = createFakeProvider({ apiKey: 'good', models: ['demo-gemini'] })
    const response = await provider.fetch(`http://fake.invalid${url}`, { method: 'POST', body, headers })
    return [response.status, (await response.json()).error?.status]
  }
  const rest = '/models/demo-gemini:generateContent'

  it.each([
    ['a key in its header', `/v1beta${rest}`, { 'x-goog-api-key': 'good' }, [200, undefined]],
    ['a key in the query', `/v1beta${rest}?key=good`, {}, [200, undefined]],
    ['the version of the newest client', `/v1${rest}`, { 'x-goog-api-key': 'good' }, [200, undefined]],
    ['a path without a version', rest, { 'x-goog-api-key': 'good' }, [200, undefined]],
    ['a Vertex AI path', `/v1beta1/publishers/google${rest}`, { authorization: 'Bearer good' }, [200, undefined]],
    ['a wrong key', `/v1beta${rest}?key=bad`, {}, [400, 'INVALID_ARGUMENT']],
    ['no key', `/v1beta${rest}`, {}, [403, 'PERMISSION_DENIED']],
    ['a key as a bearer token', `/v1beta${rest}`, { authorization: 'Bearer good' }, [401, 'UNAUTHENTICATED']],
    ['a key in another header', `/v1beta${rest}`, { 'x-api-key': 'good' }, [403, 'PERMISSION_DENIED']],
    ['an unknown model', '/v1beta/models/x:generateContent', { 'x-goog-api-key': 'good' }, [404, 'NOT_FOUND']],
    ['an unknown method', '/v1beta/models/demo-gemini:embed', { 'x-goog-api-key': 'good' }, [404, 'NOT_FOUND']],
  ] satisfies [string, string, Record<string, string>, unknown[]][])(
    'respond to %s with the expected status',
    async (_name, url, headers, wanted) => {
      expect(await send(url, headers)).toEqual(wanted)
    },
  )

  it('list models in the format of the provider that the headers select', async () => {
    const provider = createFakeProvider()
    const list = async (url: string, headers: Record<string, string>) =>
      Object.keys(await (await provider.fetch(`http://fake.invalid${url}`, { headers })).json())
    expect(await list('/v1/models', { 'x-goog-api-key': 'k' })).toEqual(['models'])
    expect(await list('/v1beta/models?key=k', {})).toEqual(['models'])
    expect(await list('/v1/models', { authorization: 'Bearer k' })).toEqual(['object', 'data'])
    expect(await list('/v1/models', { 'x-api-key': 'k', 'anthropic-version': '2023-06-01' })).toContain('has_more')
  })
})

it('accepts a signature only for the tool of its call', async () => {
  const provider = createFakeProvider()
  const tools = declared({ name: 'f' })
  const first = await (await call(provider, 'gemini', '[[think]] [[tool:f]]', tools)).json()
  const part = first.candidates[0].content.parts.find((one: JsonObject) => one.functionCall)
  const next = (name: string) =>
    call(provider, 'gemini', '', {
      contents: [
        user,
        { role: 'model', parts: [{ ...part, functionCall: { ...part.functionCall, name } }] },
        { role: 'user', parts: [{ functionResponse: { name, response: {} } }] },
      ],
    })
  expect((await next('f')).status).toBe(200)
  expect((await (await next('g')).json()).error.message).toBe('Corrupted thought signature.')
})
