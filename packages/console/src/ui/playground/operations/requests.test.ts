import { describe, expect, it } from 'vitest'
import type { Exchange, JsonObject } from '../formats/format.ts'
import { embeddingsCalls, vectorsOf } from './embeddings/request.ts'
import { cosine, pairsOf } from './embeddings/similarity.ts'
import { imagesCalls, imagesOf } from './images/request.ts'
import type { OperationDraft } from './operation.ts'
import { readRequest } from './read-request.ts'
import { rankedOf, rerankCalls } from './rerank/request.ts'
import { speechCalls } from './speech/request.ts'
import { clock, transcriptionCalls, transcriptOf } from './transcription/request.ts'

const file = new File(['x'], 'a.wav', { type: 'audio/wav' })
const model = { model: ' m ' }

const exchange = (events: readonly JsonObject[], isStream = false): Exchange => ({
  format: speechCalls.apis[0],
  request: { path: '/', headers: {}, body: {} },
  status: 200,
  responseHeaders: { 'content-type': isStream ? 'text/event-stream' : 'application/json' },
  events: events.map((event) => ({ data: JSON.stringify(event), at: 1 })),
  pieces: [],
  outcome: 'finished',
})

describe('the request of an operation', () => {
  it('contains only the fields that are set', () => {
    const texts = ['a', 'b']
    expect(readRequest(embeddingsCalls, { ...embeddingsCalls.firstDraft, ...model, texts }, [])).toMatchObject({
      request: {
        path: '/v1/embeddings',
        headers: { 'content-type': 'application/json' },
        body: { model: 'm', input: texts, encoding_format: 'float' },
      },
      wrongs: {},
      missing: undefined,
    })
    const spoken = readRequest(speechCalls, { ...speechCalls.firstDraft, ...model, text: 'Hi' }, [])
    expect(spoken.request.body).toEqual({ model: 'm', input: 'Hi', voice: 'alloy' })
    const ranked = readRequest(
      rerankCalls,
      { ...rerankCalls.firstDraft, ...model, query: 'q', documents: ['a', ' ', 'b'], format: 'rerank-v2' },
      [],
    )
    expect(ranked.request).toMatchObject({
      path: '/v2/rerank',
      body: { model: 'm', query: 'q', documents: ['a', 'b'] },
    })
  })

  it('is a form with files, and edits images if there are any', () => {
    const draft = { ...imagesCalls.firstDraft, ...model, prompt: 'fox', count: '2' }
    expect(readRequest(imagesCalls, draft, []).request).toMatchObject({ path: '/v1/images/generations' })
    const one = readRequest(imagesCalls, draft, [file])
    expect(one.request).toEqual({
      path: '/v1/images/edits',
      headers: {},
      body: { model: 'm', prompt: 'fox', n: 2 },
      files: [{ field: 'image', file }],
    })
    expect(one.api.id).toBe('image-edits')
    expect(readRequest(imagesCalls, draft, [file, file]).request.files?.map(({ field }) => field)).toEqual([
      'image[]',
      'image[]',
    ])
  })

  it('streams a transcript only in formats that can be streamed', () => {
    const draft = { ...transcriptionCalls.firstDraft, ...model }
    const body = (more: Partial<typeof draft>) =>
      readRequest(transcriptionCalls, { ...draft, ...more }, [file]).request.body
    expect(body({})).toEqual({ model: 'm', stream: true })
    expect(body({ format: 'srt' })).toEqual({ model: 'm', response_format: 'srt' })
    expect(body({ format: 'verbose_json', words: true })).toEqual({
      model: 'm',
      response_format: 'verbose_json',
      timestamp_granularities: ['word', 'segment'],
    })
  })

  it.each<[string, () => { missing: string | undefined; wrongs: Readonly<Record<string, string>> }, RegExp]>([
    ['an empty text', () => readRequest(embeddingsCalls, embeddingsCalls.firstDraft, []), /^Enter each text/],
    ['no prompt', () => readRequest(imagesCalls, imagesCalls.firstDraft, []), /^Enter a prompt/],
    ['no text to speak', () => readRequest(speechCalls, speechCalls.firstDraft, []), /^Enter a text/],
    [
      'no voice',
      () => readRequest(speechCalls, { ...speechCalls.firstDraft, text: 'Hi', voice: '' }, []),
      /^Enter a voice/,
    ],
    ['no audio', () => readRequest(transcriptionCalls, transcriptionCalls.firstDraft, []), /^Choose or record/],
    ['no query', () => readRequest(rerankCalls, rerankCalls.firstDraft, []), /^Enter a query/],
    [
      'no document',
      () => readRequest(rerankCalls, { ...rerankCalls.firstDraft, query: 'q' }, []),
      /^Enter at least one document/,
    ],
  ])('is not sent with %s', (_, read, message) => {
    expect(read().missing).toMatch(message)
  })

  it.each<[string, () => { wrongs: Readonly<Record<string, string>> }]>([
    ['dimensions', () => readRequest(embeddingsCalls, { ...embeddingsCalls.firstDraft, dimensions: '1.5' }, [])],
    ['count', () => readRequest(imagesCalls, { ...imagesCalls.firstDraft, count: '0' }, [])],
    ['speed', () => readRequest(speechCalls, { ...speechCalls.firstDraft, speed: 'fast' }, [])],
    [
      'temperature',
      () => readRequest(transcriptionCalls, { ...transcriptionCalls.firstDraft, temperature: 'hot' }, []),
    ],
    ['topN', () => readRequest(rerankCalls, { ...rerankCalls.firstDraft, topN: '-1' }, [])],
    ['extra', () => readRequest(rerankCalls, { ...rerankCalls.firstDraft, extra: '[]' }, [])],
  ])('reports an invalid %s', (name, read) => {
    expect(read().wrongs[name]).toMatch(/^Enter a /)
  })

  it('has the extra fields, which replace others', () => {
    const draft: OperationDraft & typeof speechCalls.firstDraft = {
      ...speechCalls.firstDraft,
      text: 'Hi',
      extra: '{"voice":{"id":"own"},"model":"other"}',
    }
    expect(readRequest(speechCalls, draft, []).request.body).toEqual({
      model: 'other',
      input: 'Hi',
      voice: { id: 'own' },
    })
  })
})

describe('embeddings', () => {
  it('are read in the order of the texts, as numbers or base64', () => {
    const base64 = Buffer.from(new Float32Array([0.5, -1]).buffer).toString('base64')
    const vectors = vectorsOf({
      data: [
        { index: 1, embedding: base64 },
        { index: 0, embedding: [1, 2, 3] },
      ],
    })
    expect(vectors.map((vector) => Array.from(vector))).toEqual([
      [1, 2, 3],
      [0.5, -1],
    ])
  })

  it('are compared by their directions', () => {
    expect(cosine([1, 2], [2, 4])).toBeCloseTo(1)
    expect(cosine([1, 0], [0, 3])).toBe(0)
    expect(cosine([1, 1], [-1, -1])).toBeCloseTo(-1)
    expect(cosine([0, 0], [1, 1])).toBe(0)
    const pairs = pairsOf([
      [1, 0],
      [0, 1],
      [0, 2],
      [1, 2, 3],
    ])
    expect(pairs).toHaveLength(6)
    expect(pairs[0]).toEqual({ first: 1, second: 2, similarity: 1 })
    expect(pairs.filter(({ similarity }) => similarity === undefined)).toHaveLength(3)
  })
})

describe('images', () => {
  it('are read as base64, data addresses and other addresses, with the type of their content', () => {
    const images = imagesOf(
      exchange([
        {
          output_format: 'png',
          data: [
            { b64_json: '/9j/AAAA', revised_prompt: 'a fox' },
            { url: 'data:image/webp;base64,QUJD' },
            { url: 'https://images.test/1.png' },
          ],
        },
      ]),
    )
    expect(images).toEqual([
      { data: '/9j/AAAA', url: '', type: 'image/jpeg', revisedPrompt: 'a fox', isPartial: false },
      { data: 'QUJD', url: '', type: 'image/webp', revisedPrompt: '', isPartial: false },
      { data: '', url: 'https://images.test/1.png', type: 'image/png', revisedPrompt: '', isPartial: false },
    ])
  })

  it('of a stream are the completed ones, and the newest part of the next', () => {
    const partial = (b64_json: string) => ({ type: 'image_generation.partial_image', b64_json })
    const completed = (b64_json: string) => ({ type: 'image_generation.completed', b64_json })
    const dataOf = (...events: JsonObject[]) =>
      imagesOf(exchange(events, true)).map(({ data, isPartial }) => [data, isPartial])
    expect(dataOf(partial('a'), partial('b'))).toEqual([['b', true]])
    expect(dataOf(partial('a'), completed('c'))).toEqual([['c', false]])
    expect(dataOf(completed('c'), partial('d'))).toEqual([
      ['c', false],
      ['d', true],
    ])
  })
})

describe('a transcript', () => {
  it('has segments and words with their times', () => {
    const body = {
      text: 'Hi there',
      language: 'english',
      duration: 2,
      segments: [{ text: ' Hi there', start: 0, end: 2 }],
      words: [{ word: 'Hi', start: 0, end: 0.5 }],
    }
    expect(transcriptOf(exchange([body]), 'Hi there')).toEqual({
      text: 'Hi there',
      language: 'english',
      duration: 2,
      segments: [{ text: 'Hi there', start: 0, end: 2, speaker: '' }],
      words: [{ text: 'Hi', start: 0, end: 0.5, speaker: '' }],
    })
    expect([clock(0), clock(65.5), clock(3599.999)]).toEqual(['0:00.00', '1:05.50', '60:00.00'])
  })

  it('of a stream with speakers consists of its segments', () => {
    const segment = (text: string, speaker: string) => ({
      type: 'transcript.text.segment',
      text,
      speaker,
      start: 0,
      end: 1,
    })
    const { text, segments } = transcriptOf(exchange([segment(' One', 'A'), segment(' Two', 'B')], true), '')
    expect(text).toBe('One Two')
    expect(segments.map(({ speaker }) => speaker)).toEqual(['A', 'B'])
  })

  it('is complete with its last event, which repeats the text', () => {
    const [api] = transcriptionCalls.apis
    expect(api.readEvent({ data: '{"type":"transcript.text.delta","delta":"Hi"}' })).toEqual([
      { type: 'text', text: 'Hi' },
    ])
    expect(api.readEvent({ data: '{"type":"transcript.text.done","text":"Hi","usage":{"input_tokens":3}}' })).toEqual([
      { type: 'usage', usage: { input: 3, output: undefined } },
      { type: 'finish', reason: 'complete' },
    ])
    expect(api.readEvent({ data: '[DONE]' })).toEqual([])
    expect(api.readEvent({ data: '{"type":"error","error":{"message":"No"}}' })).toMatchObject([
      { type: 'error', message: 'No' },
    ])
  })
})

describe('ranked documents', () => {
  it('are sorted by score, with the text that was sent', () => {
    const body = {
      results: [
        { index: 0, relevance_score: 0.1 },
        { index: 1, relevance_score: 0.9 },
      ],
    }
    expect(rankedOf(body, ['a', { text: 'b' }])).toEqual([
      { index: 1, score: 0.9, text: 'b' },
      { index: 0, score: 0.1, text: 'a' },
    ])
  })
})
