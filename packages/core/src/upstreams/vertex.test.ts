import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../base/json/json.ts'
import type { SharedFormat } from '../base/names.ts'
import { geminiCodec } from '../formats/gemini/codec.ts'
import { callUrl } from './outgoing-call.ts'
import { editRequestBody } from './request-body-edits.ts'
import { type VertexOptions, vertex } from './vertex.ts'

const token = () => 'tok'
const options: VertexOptions = { project: 'proj', location: 'europe-west4', token }
const models = '/v1/projects/proj/locations/europe-west4/publishers'
const host = 'https://europe-west4-aiplatform.googleapis.com'

function url(given: VertexOptions, format: 'gemini' | 'messages' | 'chat', model: string, stream = false): string {
  const upstream = vertex(given)
  const ends = upstream.hosting?.[format]?.modelInPath ?? (format === 'gemini' ? geminiCodec.modelInPath : undefined)
  return callUrl(upstream, upstream.formats[format] as string, stream ? ends?.stream : ends?.whole, model)
}

function sent(format: 'gemini' | 'messages', body: JsonObject): JsonObject {
  const call = { model: 'm', stream: false, header: () => undefined, replaced: () => undefined, lost: () => undefined }
  return JSON.parse(
    editRequestBody(JSON.stringify(body), {}, vertex(options).hosting?.[format], call) as string,
  ) as JsonObject
}

function counted(format: 'gemini' | 'messages', body: JsonObject): JsonObject {
  const call = { model: 'm', stream: false, header: () => undefined, replaced: () => undefined, lost: () => undefined }
  const edit = vertex(options).hosting?.[format]?.editCount
  if (edit === undefined) throw new Error('there is no edit')
  return JSON.parse(editRequestBody(JSON.stringify(body), {}, { edit }, call) as string) as JsonObject
}

describe('the URLs of vertex', () => {
  it.each<[VertexOptions, string]>([
    [options, `${host}${models}/google/models/gemini-x:generateContent`],
    [
      { project: 'proj', token },
      'https://aiplatform.googleapis.com/v1/projects/proj/locations/global/publishers/google/models/gemini-x:generateContent',
    ],
    [
      { project: 'proj', location: 'eu', token },
      'https://aiplatform.eu.rep.googleapis.com/v1/projects/proj/locations/eu/publishers/google/models/gemini-x:generateContent',
    ],
    [
      { project: 'example.com:proj', apiVersion: 'v1beta1', token },
      'https://aiplatform.googleapis.com/v1beta1/projects/example.com:proj/locations/global/publishers/google/models/gemini-x:generateContent',
    ],
    [
      { apiKey: 'express-key' },
      'https://aiplatform.googleapis.com/v1/publishers/google/models/gemini-x:generateContent',
    ],
    [
      { ...options, baseURL: 'https://private.example/v1/' },
      `https://private.example${models}/google/models/gemini-x:generateContent`,
    ],
  ])('are built from %j', (given, expected) => {
    expect(url(given, 'gemini', 'gemini-x')).toBe(expected)
  })

  it('contain the publisher and a method for responses or for streams', () => {
    expect(url(options, 'gemini', 'gemini-x', true)).toBe(
      `${host}${models}/google/models/gemini-x:streamGenerateContent?alt=sse`,
    )
    expect(url(options, 'messages', 'claude-x')).toBe(`${host}${models}/anthropic/models/claude-x:rawPredict`)
    expect(url(options, 'messages', 'claude-x', true)).toBe(
      `${host}${models}/anthropic/models/claude-x:streamRawPredict`,
    )
    expect(url(options, 'chat', 'meta/llama')).toBe(
      `${host}/v1/projects/proj/locations/europe-west4/endpoints/openapi/chat/completions`,
    )
  })

  it('keep a model’s version and reject model names that lead to another path', () => {
    expect(decodeURIComponent(url(options, 'messages', 'claude-x@20250929'))).toContain('/claude-x@20250929:rawPredict')
    expect(() => url(options, 'gemini', '../../x')).toThrow('does not exist')
  })

  it('include those that count tokens', () => {
    expect(vertex(options).countTokens).toEqual({
      gemini: `${models}/google/models`,
      messages: `${models}/anthropic/models/count-tokens:rawPredict`,
    })
    expect(Object.keys(vertex({ apiKey: 'k' }).countTokens ?? {})).toEqual(['gemini'])
  })

  it.each<[string, SharedFormat]>([
    ['gemini-2.5-flash', 'gemini'],
    ['claude-sonnet-4-5@20250929', 'messages'],
    ['meta/llama-4-maverick-17b-128e-instruct-maas', 'chat'],
    ['google/gemini-2.5-flash', 'chat'],
    ['text-embedding-005', 'gemini'],
  ])('belong for %s only to the format %s', (model, format) => {
    const { formats, serves } = vertex(options)
    const serving = (Object.keys(formats) as SharedFormat[]).filter((name) => serves?.(name, model) !== false)
    expect(serving).toEqual([format])
  })
})

describe('the credentials of vertex', () => {
  const call = { method: 'POST', url: 'https://x', headers: {}, body: '' }

  it('are an API key, a token, or the credentials of google-auth-library', async () => {
    const keyed = vertex({ apiKey: 'key-1' })
    expect([keyed.headers, keyed.authorize]).toEqual([{ 'x-goog-api-key': 'key-1' }, undefined])
    const tokened = vertex(options)
    expect(tokened.headers).toEqual({})
    expect(await tokened.authorize?.(call)).toEqual({ authorization: 'Bearer tok' })
    expect(vertex({ project: 'proj' }).authorize).toBeTypeOf('function')
  })

  it.each<[VertexOptions, string]>([
    [{}, 'project is missing: set the id'],
    [{ token }, 'project is missing: set the id'],
    [{ project: 'p', apiKey: 'k', token }, 'apiKey and token are set: set only one'],
    [{ project: 'p', keyFile: 'f', credentials: {} }, 'keyFile and credentials are set: set only one'],
    [{ project: 'p', keyFile: '' }, 'keyFile is empty: write the path'],
    [{ project: 'p', token: 'tok' as unknown as () => string }, 'token is a string: write a function'],
    [
      { project: 'p', credentials: { client_email: 'a@b', private_key: undefined } },
      'credentials.private_key is undefined. Set the environment variable that it is read from (usually GOOGLE_PRIVATE_KEY)',
    ],
    [{ project: 'a/b', token }, "project 'a/b' is not"],
    [{ project: 'p', location: 'x/../y', token }, "location 'x/../y' is not"],
    [{ project: '{model}', token }, "project '{model}' is not"],
  ])('%j have one problem, with the fix: %s', (given, words) =>
    expect(vertex(given)).toMatchObject({ formats: {}, problems: [expect.stringContaining(words)] }),
  )

  it('have a problem if one is present but undefined', () => {
    for (const option of ['apiKey', 'token', 'keyFile', 'credentials'])
      expect(vertex({ project: 'p', [option]: undefined }).problems).toEqual([
        expect.stringMatching(new RegExp(`^${option} is undefined\\. Set the environment variable`)),
      ])
  })
})

describe('a body for vertex', () => {
  it('contains the version and not the model for Claude', () => {
    expect(sent('messages', { model: 'm', max_tokens: 1, messages: [], stream: true })).toEqual({
      max_tokens: 1,
      messages: [],
      stream: true,
      anthropic_version: 'vertex-2023-10-16',
    })
  })

  it('contains a role in each content for Gemini', () => {
    const requested = { contents: [{ parts: [{ text: 'a' }] }, { role: 'model', parts: [] }, { role: '', parts: [] }] }
    expect(sent('gemini', requested)).toEqual({
      contents: [
        { parts: [{ text: 'a' }], role: 'user' },
        { role: 'model', parts: [] },
        { role: 'user', parts: [] },
      ],
    })
    expect(sent('gemini', { contents: { parts: [] } })).toEqual({ contents: [{ role: 'user', parts: [] }] })
  })

  it('keeps every character of a Gemini body with roles', () => {
    const text = '{ "contents":[{"role":"user","parts":[{"text":"h\\u00ef"}]}], "n":12345678901234567890 }'
    const call = {
      model: 'm',
      stream: false,
      header: () => undefined,
      replaced: () => undefined,
      lost: () => undefined,
    }
    expect(editRequestBody(text, {}, vertex(options).hosting?.gemini, call)).toBe(text)
  })

  it.each<[JsonObject, JsonObject]>([
    [{ contents: [{ role: 'user', parts: [] }] }, { contents: [{ role: 'user', parts: [] }] }],
    [{ contents: [{ parts: [] }] }, { contents: [{ role: 'user', parts: [] }] }],
    [
      {
        generateContentRequest: {
          model: 'models/m',
          contents: [{ parts: [{ text: 'a' }] }],
          system_instruction: { parts: [{ text: 's' }] },
          tools: [{ googleSearch: {} }],
          toolConfig: {},
          safetySettings: [],
        },
      },
      {
        contents: [{ role: 'user', parts: [{ text: 'a' }] }],
        systemInstruction: { parts: [{ text: 's' }] },
        tools: [{ googleSearch: {} }],
      },
    ],
    [{ generate_content_request: { contents: [] } }, { contents: [] }],
  ])('has the request at the top level in a Gemini token count: %j', (body, expected) => {
    expect(counted('gemini', body)).toEqual(expected)
  })

  it('keeps the model in a Claude token count', () => {
    expect(counted('messages', { model: 'm', messages: [] })).toEqual({
      model: 'm',
      messages: [],
      anthropic_version: 'vertex-2023-10-16',
    })
  })
})
