import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../base/json.ts'
import { demoPicture, demoSpeech, toWav } from '../demo/media.ts'
import { createFakeProvider } from '../index.ts'
import { requestTo } from '../provider/requests.test-support.ts'

type Bad = readonly [body: JsonObject, status: number, message: RegExp, param: string | null]

const wav = new Blob([toWav([...demoSpeech('hello there')]) as BlobPart], { type: 'audio/wav' })
const png = new Blob([demoPicture('x', { width: 16, height: 16 }) as BlobPart], { type: 'image/png' })

async function refusalOf(path: string, body: JsonObject | FormData, options = {}) {
  const request =
    body instanceof FormData
      ? new Request(`http://fake.invalid${path}`, { method: 'POST', headers: { authorization: 'Bearer k' }, body })
      : requestTo(path, body)
  const response = await createFakeProvider(options).fetch(request)
  return { status: response.status, body: await response.json() }
}

const formOf = (fields: Readonly<Record<string, string | readonly [Blob, string]>>): FormData => {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields))
    if (typeof value === 'string') form.append(name, value)
    else form.append(name, ...value)
  return form
}

describe.each<readonly [string, readonly Bad[]]>([
  [
    '/v1/embeddings',
    [
      [{ input: 'x' }, 400, /you must provide a model parameter/, null],
      [{ model: 'm' }, 400, /Missing required parameter: 'input'/, 'input'],
      [{ model: 'm', input: '' }, 400, /'\$\.input' is invalid/, null],
      [{ model: 'm', input: [] }, 400, /'\$\.input' is invalid/, null],
      [{ model: 'm', input: ['x', 1] }, 400, /'\$\.input' is invalid/, null],
      [{ model: 'm', input: Array(2049).fill('x') }, 400, /maximum length 2048/, 'input'],
      [{ model: 'm', input: 'x', dimensions: 0 }, 400, /below minimum value/, 'dimensions'],
      [{ model: 'm', input: 'x', dimensions: 4000 }, 400, /less than or equal to 3072/, null],
      [{ model: 'text-embedding-ada-002', input: 'x', dimensions: 5 }, 400, /does not support specifying dim/, null],
      [{ model: 'm', input: 'x', encoding_format: 'hex' }, 400, /'float', and 'base64'/, 'encoding_format'],
      [{ model: 'm', input: 'x', foo: 1 }, 400, /Unknown parameter: 'foo'/, 'foo'],
    ],
  ],
  [
    '/v1/completions',
    [
      [{ model: 'm', prompt: {} }, 400, /Invalid type for 'prompt'/, 'prompt'],
      [{ model: 'm', prompt: 'x', max_tokens: -1 }, 400, /Expected a value >= 0, but got -1/, 'max_tokens'],
      [{ model: 'm', prompt: [12345, 123456] }, 400, /Invalid token in prompt: 123456/, null],
      [{ model: 'm', prompt: 'x', logprobs: 6 }, 400, /above maximum value/, 'logprobs'],
      [{ model: 'm', prompt: 'x', n: 3, best_of: 2 }, 400, /more choices than it will generate/, 'best_of'],
      [{ model: 'm', prompt: 'x', stream_options: {} }, 400, /only allowed when 'stream' is enabled/, 'stream_options'],
    ],
  ],
  [
    '/v1/moderations',
    [
      [{}, 400, /Missing required parameter: 'input'/, 'input'],
      [{ input: [] }, 400, /empty array/, 'input'],
      [{ input: [{ type: 'text' }] }, 400, /Missing required parameter/, 'input[0].text'],
      [{ input: [{ type: 'audio' }] }, 400, /'text', and 'image_url'/, 'input[0].type'],
    ],
  ],
  [
    '/v1/images/generations',
    [
      [{ model: 'm' }, 400, /Missing required parameter: 'prompt'/, 'prompt'],
      [{ model: 'm', prompt: 'x', n: 11 }, 400, /Expected a value <= 10/, 'n'],
      [{ model: 'm', prompt: 'x', size: '10x10' }, 400, /Invalid value: '10x10'/, 'size'],
      [{ model: 'gpt-image-1', prompt: 'x', size: '256x256' }, 400, /and 'auto'/, 'size'],
      [{ model: 'gpt-image-1', prompt: 'x', response_format: 'url' }, 400, /Unknown parameter/, 'response_format'],
      [{ model: 'dall-e-3', prompt: 'x', n: 2 }, 400, /n=1/, 'n'],
      [{ model: 'dall-e-2', prompt: 'x', stream: true }, 400, /Unknown parameter/, 'stream'],
      [{ model: 'm', prompt: 'x', partial_images: 2 }, 400, /'stream' is enabled/, 'partial_images'],
    ],
  ],
  [
    '/v1/images/edits',
    [
      [{ model: 'm', prompt: 'x' }, 400, /Missing required parameter: 'images'/, 'images'],
      [{ model: 'm', prompt: 'x', images: [{}] }, 400, /Missing required/, 'images[0].image_url'],
      [
        { model: 'm', prompt: 'x', images: [{ image_url: 'data:image/png;base64,QUJD' }] },
        400,
        /Invalid image data/,
        'images[0].image_url',
      ],
    ],
  ],
  [
    '/v1/audio/speech',
    [
      [{ model: 'm', voice: 'alloy' }, 400, /Missing required parameter: 'input'/, 'input'],
      [{ model: 'm', input: 'x' }, 400, /Missing required parameter: 'voice'/, 'voice'],
      [{ model: 'm', input: 'x', voice: 'bob' }, 400, /Invalid value: 'bob'/, 'voice'],
      [{ model: 'm', input: 'x'.repeat(4097), voice: 'ash' }, 400, /maximum length 4096/, 'input'],
      [{ model: 'm', input: 'x', voice: 'ash', speed: 5 }, 400, /Expected a value <= 4/, 'speed'],
      [{ model: 'm', input: 'x', voice: 'ash', response_format: 'ogg' }, 400, /'mp3', 'opus'/, 'response_format'],
      [{ model: 'tts-1', input: 'x', voice: 'ash', stream_format: 'sse' }, 400, /not supported/, 'stream_format'],
    ],
  ],
  ['/v1/audio/transcriptions', [[{ model: 'm' }, 400, /only accepts 'multipart\/form-data'/, null]]],
])('requests to %s', (path, table) => {
  it.each(table)('are rejected for %j with %i', async (body, status, message, param) => {
    const refusal = await refusalOf(path, body)
    expect(refusal).toMatchObject({
      status,
      body: { error: { message: expect.stringMatching(message), type: expect.any(String), param } },
    })
  })
})

describe('multipart forms', () => {
  it.each<readonly [string, string, Readonly<Record<string, string | readonly [Blob, string]>>, RegExp]>([
    ['without a file', '/v1/audio/transcriptions', { model: 'm' }, /Missing required parameter: 'file'/],
    [
      'with a file of an unsupported type',
      '/v1/audio/transcriptions',
      { model: 'm', file: [new Blob(['x']), 'a.txt'] },
      /Invalid file/,
    ],
    ['with an empty file', '/v1/audio/transcriptions', { model: 'm', file: [new Blob(), 'a.wav'] }, /Invalid file/],
    [
      'with a file that is too large',
      '/v1/audio/transcriptions',
      { model: 'm', file: [new Blob([new Uint8Array(26_214_401)]), 'a.mp3'] },
      /Maximum content size limit \(26214400\) exceeded/,
    ],
    [
      'with a file that is too short',
      '/v1/audio/translations',
      { model: 'm', file: [new Blob([toWav([new Uint8Array(480)]) as BlobPart]), 'a.wav'] },
      /Audio file is too short/,
    ],
    [
      'with a response format of other models',
      '/v1/audio/transcriptions',
      { model: 'gpt-4o-transcribe', file: [wav, 'a.wav'], response_format: 'srt' },
      /'srt' is not compatible with model 'gpt-4o-transcribe'/,
    ],
    [
      'with timestamps in a format without timestamps',
      '/v1/audio/transcriptions',
      { model: 'm', file: [wav, 'a.wav'], 'timestamp_granularities[]': 'word' },
      /only supported with response_format 'verbose_json'/,
    ],
    [
      'with a number that is not numeric',
      '/v1/audio/transcriptions',
      { model: 'm', file: [wav, 'a.wav'], temperature: 'hot' },
      /Invalid type for 'temperature'/,
    ],
    ['without an image', '/v1/images/edits', { model: 'm', prompt: 'x' }, /Missing required parameter: 'image'/],
    [
      'with an image that is not an image',
      '/v1/images/edits',
      { model: 'm', prompt: 'x', image: [new Blob(['x']), 'a.png'] },
      /Invalid image data/,
    ],
    ['without an image for variations', '/v1/images/variations', {}, /Missing required parameter: 'image'/],
    [
      'with a prompt for variations',
      '/v1/images/variations',
      { image: [png, 'a.png'], prompt: 'x' },
      /Unknown parameter/,
    ],
  ])('are rejected %s', async (_name, path, fields, message) => {
    const refusal = await refusalOf(path, formOf(fields))
    const status = message.source.startsWith('Maximum') ? 413 : 400
    expect(refusal).toMatchObject({ status, body: { error: { message: expect.stringMatching(message) } } })
  })

  it('are rejected if truncated', async () => {
    const type = 'multipart/form-data; boundary=b'
    const body = '--b\r\nContent-Disposition: form-data; name="model"\r\n\r\nm'
    const provider = createFakeProvider()
    const response = await provider.fetch(requestTo('/v1/audio/transcriptions', body, { 'content-type': type }))
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error: { message: 'Could not parse multipart form' } })
    expect(provider.requests[0]).toMatchObject({ form: undefined, bodyText: body })
  })
})

describe('services of other providers', () => {
  it.each<readonly [JsonObject, number, RegExp]>([
    [{ query: 'q', documents: ['d'] }, 400, /model must be specified/],
    [{ model: 'm', documents: ['d'] }, 400, /query must be specified/],
    [{ model: 'm', query: 'q', documents: [] }, 400, /list of documents must not be empty/],
    [{ model: 'm', query: 'q', documents: [1] }, 422, /documents\[0\]/],
    [{ model: 'm', query: 'q', documents: ['d'], top_n: 0 }, 400, /top_n/],
  ])('reject the rerank request %j with %i in Cohere’s error shape', async (body, status, message) => {
    for (const path of ['/v1/rerank', '/v2/rerank']) {
      const refusal = await refusalOf(path, body)
      expect(refusal).toEqual({ status, body: { id: expect.any(String), message: expect.stringMatching(message) } })
    }
  })

  it('rerank objects by their text and return them, in v1 only', async () => {
    const body = { model: 'm', query: 'ruby', documents: [{ text: 'Paris' }, { text: 'Ruby', id: 7 }] }
    const { results } = (await refusalOf('/v1/rerank', { ...body, top_n: 1, return_documents: true })).body
    expect(results).toEqual([{ index: 1, relevance_score: expect.any(Number), document: { text: 'Ruby', id: 7 } }])
    expect((await refusalOf('/v2/rerank', body)).status).toBe(422)
  })

  it.each<readonly [string, JsonObject, RegExp]>([
    ['embedContent', {}, /content: contents is not specified/],
    ['embedContent', { content: { parts: [] } }, /parts must not be empty/],
    [
      'embedContent',
      { content: { parts: [{ text: 1 }] } },
      /Invalid value at 'content.parts\[0\].text' \(TYPE_STRING\)/,
    ],
    ['embedContent', { content: { parts: [{ text: 'x' }] }, foo: 1 }, /Unknown name "foo"/],
    ['batchEmbedContents', {}, /requests is not specified/],
    ['batchEmbedContents', { requests: [{ content: { parts: [{ text: 'x' }] } }] }, /requests\[0\].model/],
    [
      'batchEmbedContents',
      { requests: [{ model: 'models/other', content: { parts: [{ text: 'x' }] } }] },
      /must be that of the path/,
    ],
  ])('reject :%s of %j', async (action, body, message) => {
    const refusal = await refusalOf(`/v1beta/models/m:${action}`, body)
    expect(refusal).toMatchObject({
      status: 400,
      body: { error: { code: 400, status: 'INVALID_ARGUMENT', message: expect.stringMatching(message) } },
    })
  })

  it('list their models in their own shapes', async () => {
    const options = { models: ['known'] }
    const content = { content: { parts: [{ text: 'x' }] } }
    expect((await refusalOf('/v1/embeddings', { model: 'm', input: 'x' }, options)).body.error.code).toBe(
      'model_not_found',
    )
    expect((await refusalOf('/v1beta/models/m:embedContent', content, options)).body.error.message).toMatch(
      /not supported for embedContent/,
    )
    const rerank = { model: 'm', query: 'q', documents: ['d'] }
    expect(await refusalOf('/v2/rerank', rerank, options)).toMatchObject({
      status: 404,
      body: { message: expect.stringContaining("'m' not found") },
    })
  })
})
