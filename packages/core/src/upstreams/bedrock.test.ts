import { describe, expect, it, test } from 'vitest'
import { concatBytes } from '../base/bytes.ts'
import type { JsonObject } from '../base/json/json.ts'
import { chunkFrame, eventFrame, exceptionFrame, inPieces } from '../http/frames/frames.test-support.ts'
import { type BedrockOptions, bedrock, bedrockMantle } from './bedrock.ts'
import { callUrl, formatsFor } from './outgoing-call.ts'

const region = 'eu-central-1'
const host = 'https://bedrock-runtime.eu-central-1.amazonaws.com'
const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' }

describe('a Bedrock upstream', () => {
  it.each<[string, Partial<BedrockOptions>, readonly string[]]>([
    ['anthropic.claude-3-haiku-20240307-v1:0', {}, ['messages']],
    ['us.anthropic.claude-sonnet-4-5-20250929-v1:0', {}, ['messages']],
    ['arn:aws:bedrock:us-east-1:1:inference-profile/eu.anthropic.claude-opus-4-7', {}, ['messages']],
    ['amazon.nova-lite-v1:0', {}, ['converse']],
    ['openai.gpt-oss-120b-1:0', {}, ['converse']],
    ['arn:aws:bedrock:us-east-1:1:application-inference-profile/abc', {}, ['converse']],
    ['arn:aws:bedrock:us-east-1:1:application-inference-profile/abc', { isClaude: () => true }, ['messages']],
    ['anthropic.claude-3-haiku-20240307-v1:0', { formats: ['converse'] }, ['converse']],
    ['amazon.nova-lite-v1:0', { formats: ['messages'] }, []],
  ])('uses for %s (%j) the formats %j', (model, options, formats) => {
    expect(formatsFor(bedrock({ region, ...options }), model)).toEqual(formats)
  })

  test('encodes the model’s name as one path segment', () => {
    const upstream = bedrock({ region })
    const arn = 'arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-x'
    const { whole, stream } = upstream.hosting?.messages?.modelInPath ?? { whole: '', stream: '' }
    const path = upstream.formats.messages ?? ''
    expect(callUrl(upstream, path, whole, 'anthropic.claude-x-v1:0')).toBe(
      `${host}/model/anthropic.claude-x-v1%3A0/invoke`,
    )
    expect(callUrl(upstream, path, stream, arn)).toBe(
      `${host}/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fus.anthropic.claude-x/invoke-with-response-stream`,
    )
  })

  it.each([
    [{ region: 'cn-north-1' }, 'https://bedrock-runtime.cn-north-1.amazonaws.com.cn'],
    [{ region, baseURL: 'http://localhost:9/x/' }, 'http://localhost:9/x'],
  ])('has for %j the base URL %s', (options, expected) => {
    expect(bedrock(options).baseURL).toBe(expected)
  })

  test('sends one or several keys as bearer tokens', () => {
    expect(bedrock({ region, apiKey: 'bedrock-api-key-a' }).headers.authorization).toBe('Bearer bedrock-api-key-a')
    const { keys, headers } = bedrock({ region, apiKey: ['a', 'b'] })
    expect(keys?.map((key) => key.headers.authorization)).toEqual(['Bearer a', 'Bearer b'])
    expect(headers).not.toHaveProperty('authorization')
  })

  it.each([bedrock, bedrockMantle])('signs calls for its own service', async (make) => {
    const { authorize, headers } = make({ region, credentials: async () => credentials })
    expect(headers).not.toHaveProperty('authorization')
    const signed = await authorize?.({ method: 'POST', url: 'https://h/x', headers: {}, body: '{}' })
    const service = make === bedrock ? 'bedrock' : 'bedrock-mantle'
    expect(signed?.authorization).toContain(`/eu-central-1/${service}/aws4_request`)
  })

  it.each([
    [{ region: 'eu central' }, ["region 'eu central' is not an AWS region"]],
    [{ region: 'evil.com/' }, ["region 'evil.com/' is not an AWS region"]],
    [{ region, apiKey: 'k', credentials }, ['apiKey and credentials are both set: set only one']],
    [{ region, credentials: { accessKeyId: '', secretAccessKey: 'x' } }, ['credentials.accessKeyId is empty. Set the']],
    [{ region, apiKey: [] }, ['apiKey is an empty list']],
    [
      { region, credentials: { accessKeyId: undefined, secretAccessKey: undefined, expiration: 5 } },
      [
        'credentials.accessKeyId is undefined. Set the environment variable that it is read from (usually AWS_ACCESS_KEY_ID)',
        'credentials.secretAccessKey is undefined. Set the environment variable that it is read from (usually AWS_SECRET_ACCESS_KEY)',
        'credentials.expiration is not a Date',
      ],
    ],
    [{ region, credentials: undefined }, ['credentials is undefined.']],
    [{ region, credentials: null }, ['credentials is null.']],
    [{ region, credentials: 'AKID' }, ['credentials is a string: write accessKeyId']],
  ])('reports the problem of %j', (options, problems) => {
    for (const make of [bedrock, bedrockMantle])
      expect(make(options as BedrockOptions)).toMatchObject({
        formats: {},
        problems: problems.map((problem) => expect.stringContaining(problem)),
      })
  })
})

describe('a body for InvokeModel', () => {
  const edit = (body: JsonObject, beta?: string, betas?: readonly string[]) =>
    bedrock({ region, ...(betas === undefined ? {} : { betas }) }).hosting?.messages?.edit?.({
      body,
      model: 'm',
      stream: true,
      header: (name) => (name === 'anthropic-beta' ? beta : undefined),
      isRepeated: () => false,
    })

  test('contains the version, but neither model nor stream', () => {
    expect(edit({ model: 'm', stream: true })).toEqual({
      set: { anthropic_version: 'bedrock-2023-05-31' },
      drop: ['model', 'stream'],
      losses: [],
    })
    expect(edit({ anthropic_version: 'own' })?.set).toEqual({ anthropic_version: 'own' })
  })

  test('contains the beta flags of the client’s header in addition to its own', () => {
    expect(edit({ anthropic_beta: ['a'] }, 'b, a,,c')?.set?.anthropic_beta).toEqual(['a', 'b', 'c'])
    expect(edit({}, '')?.set).not.toHaveProperty('anthropic_beta')
    expect(edit({}, 'a,b', ['b'])?.set?.anthropic_beta).toEqual(['b'])
    expect(edit({ anthropic_beta: 'own' }, 'a')?.set?.anthropic_beta).toEqual(['own', 'a'])
    expect(edit({ anthropic_beta: null }, 'a')?.set?.anthropic_beta).toEqual(['a'])
  })
})

test('adds beta flags for Claude, and for no other model, to Converse requests', () => {
  const { edit } = bedrock({ region, formats: ['converse'] }).hosting?.converse ?? {}
  const call = {
    body: { additionalModelRequestFields: { top_k: 1 } },
    stream: false,
    header: () => 'a, b',
    isRepeated: () => false,
  }
  expect(edit?.({ ...call, model: 'anthropic.claude-x' })).toEqual({
    set: { additionalModelRequestFields: { top_k: 1, anthropic_beta: ['a', 'b'] } },
    losses: [],
  })
  expect(edit?.({ ...call, model: 'amazon.nova-lite-v1:0' })).toEqual({ losses: [] })
  expect(edit?.({ ...call, model: 'anthropic.claude-x', header: () => undefined })).toEqual({ losses: [] })
  const body = { additionalModelRequestFields: { anthropic_beta: ['own'] } }
  expect(edit?.({ ...call, body, model: 'anthropic.claude-x' })?.set).toEqual({
    additionalModelRequestFields: { anthropic_beta: ['own', 'a', 'b'] },
  })
})

describe('a stream of InvokeModel', () => {
  const read = async (bytes: Uint8Array, size: number): Promise<string> => {
    const { toEvents } = bedrock({ region }).hosting?.messages ?? {}
    let out = ''
    for await (const piece of toEvents?.(inPieces(bytes, size)) ?? []) out += new TextDecoder().decode(piece)
    return out
  }
  const events = [{ type: 'message_start', message: { id: 'ü' } }, { type: 'ping' }, { type: 'message_stop' }]
  const bytes = concatBytes(events.map(chunkFrame))

  test('contains the model’s events under their names, however its bytes are split', async () => {
    const expected = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
    for (const size of [1, 5, 100, bytes.length]) expect(await read(bytes, size)).toBe(expected)
  })

  test('skips frames without an event of the model', async () => {
    expect(await read(concatBytes([eventFrame('initial-response', {}), bytes]), 50)).toBe(await read(bytes, 50))
  })

  it.each([
    ['nothing', eventFrame('chunk', {})],
    ['no base64', eventFrame('chunk', { bytes: '*' })],
    ['no event', eventFrame('chunk', { bytes: btoa('{}') })],
    ['no JSON', eventFrame('chunk', { bytes: btoa('word') })],
  ])('is an error with a chunk of %s', async (_, frame) => {
    await expect(read(frame, 50)).rejects.toThrow(/without content from the model/)
  })

  test('throws the error of an exception frame', async () => {
    await expect(read(exceptionFrame('throttlingException', { message: 'Slow down' }), 9)).rejects.toMatchObject({
      info: { kind: 'rate_limited', message: 'Slow down' },
    })
  })
})

test.each([
  ['v1', 'https://bedrock-mantle.eu-central-1.api.aws/v1', ['responses', 'chat']],
  ['openai', 'https://bedrock-mantle.eu-central-1.api.aws/openai/v1', ['responses']],
] as const)('calls the surface %s of the OpenAI-compatible endpoint', (surface, baseURL, formats) => {
  const upstream = bedrockMantle({ region, apiKey: 'k', surface })
  expect(upstream.baseURL).toBe(baseURL)
  expect(Object.keys(upstream.formats)).toEqual(formats)
  expect(upstream.headers.authorization).toBe('Bearer k')
})
