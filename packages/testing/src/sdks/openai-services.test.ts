import OpenAI, { toFile } from 'openai'
import { describe, expect, it } from 'vitest'
import { detectImageType, wavDuration } from '../base/media-type.ts'
import { similarity } from '../demo/embedding.ts'
import { demoPicture, demoSpeech, toWav } from '../demo/media.ts'
import { createFakeProvider } from '../index.ts'

const provider = createFakeProvider({ apiKey: 'good-key' })
const client = new OpenAI({
  apiKey: 'good-key',
  baseURL: 'http://fake.invalid/v1',
  fetch: provider.fetch,
  maxRetries: 0,
})
const bytesOf = (base64: string | undefined): Uint8Array => Buffer.from(base64 ?? '', 'base64')
const wav = (): Promise<File> => toFile(toWav([...demoSpeech('hello there')]), 'hello.wav', { type: 'audio/wav' })
const png = (): Promise<File> => toFile(demoPicture('x', { width: 64, height: 64 }), 'x.png', { type: 'image/png' })

describe('embeddings with the OpenAI client', () => {
  it('are read as numbers although the SDK requests base64, and are close for similar texts', async () => {
    const input = ['A cat sleeps on the sofa', 'My cat slept on the sofa', 'Shares fell in March']
    const { data, usage } = await client.embeddings.create({ model: 'demo-embedding', input })
    expect(provider.requests.at(-1)).toMatchObject({
      operation: 'embeddings',
      format: undefined,
      model: 'demo-embedding',
      body: { encoding_format: 'base64' },
    })
    const [one = [], two = [], three = []] = data.map(({ embedding }) => embedding)
    expect(one).toHaveLength(256)
    expect(similarity(one, two)).toBeGreaterThan(similarity(one, three) + 0.2)
    const plain = await client.embeddings.create({ model: 'demo-embedding', input, encoding_format: 'float' })
    expect(plain.data.map(({ embedding }) => embedding)).toEqual([one, two, three])
    expect(usage).toEqual({ prompt_tokens: 16, total_tokens: 16 })
  })

  it.each([
    ['text-embedding-3-large', undefined, 3072],
    ['text-embedding-3-small', undefined, 1536],
    ['text-embedding-3-large', 5, 5],
    ['demo-embedding', 3072, 3072],
  ])('of %s with dimensions %s have %i numbers', async (model, dimensions, length) => {
    const { data } = await client.embeddings.create({ model, input: [[1, 2], [3]], ...(dimensions && { dimensions }) })
    expect(data.map(({ embedding }) => embedding.length)).toEqual([length, length])
  })
})

describe('images with the OpenAI client', () => {
  it('are PNGs of the requested size', async () => {
    const { data, usage, size, output_format } = await client.images.generate({
      model: 'demo-image',
      prompt: 'a cat',
      n: 2,
      size: '1536x1024',
      output_format: 'webp',
    })
    expect([size, output_format]).toEqual(['1536x1024', 'png'])
    const pictures = (data ?? []).map(({ b64_json }) => bytesOf(b64_json))
    expect(pictures.map(detectImageType)).toEqual(['image/png', 'image/png'])
    expect(pictures[0]).not.toEqual(pictures[1])
    expect(usage).toMatchObject({ input_tokens: 2, total_tokens: 2 + (usage?.output_tokens ?? 0) })
  })

  it('of the earlier models are URLs, without usage', async () => {
    const { data, usage } = await client.images.generate({ model: 'dall-e-3', prompt: 'a cat' })
    expect(data?.[0]).toMatchObject({ url: expect.stringMatching(/^data:image\/png;base64,/), revised_prompt: 'a cat' })
    expect(usage).toBeUndefined()
  })

  it('are streamed part by part', async () => {
    const stream = await client.images.generate({
      model: 'demo-image',
      prompt: 'a cat',
      stream: true,
      partial_images: 2,
    })
    const events = []
    for await (const event of stream) events.push(event)
    expect(events.map(({ type }) => type)).toEqual([
      'image_generation.partial_image',
      'image_generation.partial_image',
      'image_generation.completed',
    ])
    expect(events.every(({ b64_json }) => detectImageType(bytesOf(b64_json)) === 'image/png')).toBe(true)
    expect(events.at(-1)).toMatchObject({ usage: { input_tokens: 2 } })
  })

  it('are edited, from files and from URLs, and varied', async () => {
    const file = await png()
    const edited = await client.images.edit({ model: 'demo-image', image: [file, file], prompt: 'greener', mask: file })
    expect(edited.usage?.input_tokens_details).toEqual({ image_tokens: 388, text_tokens: 1 })
    expect(provider.requests.at(-1)).toMatchObject({
      operation: 'image-edits',
      model: 'demo-image',
      body: undefined,
      form: expect.arrayContaining([
        {
          name: 'image[]',
          filename: 'x.png',
          contentType: 'image/png',
          bytes: new Uint8Array(await file.arrayBuffer()),
        },
      ]),
    })
    const image_url = `data:image/png;base64,${Buffer.from(await file.arrayBuffer()).toString('base64')}`
    const body = { model: 'demo-image', prompt: 'greener', images: [{ image_url }] }
    const json = await client.post<OpenAI.ImagesResponse>('/images/edits', { body })
    expect(detectImageType(bytesOf(json.data?.[0]?.b64_json))).toBe('image/png')
    const varied = await client.images.createVariation({ image: file, n: 2, response_format: 'b64_json' })
    expect(varied.data).toHaveLength(2)
  })
})

describe('audio with the OpenAI client', () => {
  it('is generated as a file that can be transcribed', async () => {
    const answer = await client.audio.speech.create({ model: 'demo-speech', voice: 'alloy', input: 'hello there' })
    expect(answer.headers.get('content-type')).toBe('audio/wav')
    const sound = new Uint8Array(await answer.arrayBuffer())
    expect(wavDuration(sound)).toBeGreaterThan(0.5)
    const file = await toFile(sound, 'said.wav', { type: 'audio/wav' })
    const { text } = await client.audio.transcriptions.create({
      model: 'demo-transcribe',
      file,
      prompt: 'Names: Ada',
      language: 'de',
    })
    expect(text).toBe(
      `I heard ${wavDuration(sound)?.toFixed(2)} seconds of sound. The file is “said.wav” (audio/wav, ${sound.length.toLocaleString('en-US')} bytes). The prompt was “Names: Ada”. The language was to be “de”.`,
    )
  })

  it('is raw samples on request', async () => {
    const ask = { model: 'demo-speech', voice: 'ash', input: 'one two' } as const
    const raw = await client.audio.speech.create({ ...ask, response_format: 'pcm' })
    expect(raw.headers.get('content-type')).toBe('audio/pcm')
    const whole = await client.audio.speech.create({ ...ask, response_format: 'wav' })
    expect(new Uint8Array(await raw.arrayBuffer())).toEqual(new Uint8Array(await whole.arrayBuffer()).slice(44))
  })

  it.each([
    ['text', /^I heard 0\.\d+ seconds .*\)\.\n$/],
    ['srt', /^1\n00:00:00,000 --> 00:00:00,\d{3}\nI heard .*\n\n2\n/],
    ['vtt', /^WEBVTT\n\n00:00:00\.000 --> 00:00:00\.\d{3}\nI heard/],
  ] as const)('is transcribed as %s', async (response_format, expected) => {
    const written = await client.audio.transcriptions.create({ model: 'whisper-1', file: await wav(), response_format })
    expect(written).toMatch(expected)
  })

  it('is transcribed with timestamps', async () => {
    const ask = { model: 'whisper-1', file: await wav(), response_format: 'verbose_json' } as const
    const verbose = await client.audio.transcriptions.create({ ...ask, timestamp_granularities: ['word', 'segment'] })
    expect(verbose.segments?.map(({ text }) => text)).toEqual([
      expect.stringMatching(/^ I heard .* sound\.$/),
      expect.stringMatching(/^ The file is “hello\.wav” .*\.$/),
    ])
    expect(verbose.segments?.at(-1)?.end).toBeCloseTo(verbose.duration, 2)
    expect(verbose.words?.[0]).toMatchObject({ word: 'I', start: 0 })
    expect(verbose.usage).toEqual({ type: 'duration', seconds: 1 })
    const english = await client.audio.translations.create({ ...ask, file: await wav() })
    expect(english).toMatchObject({ task: 'translate', language: 'english' })
  })

  it('is transcribed word by word', async () => {
    const ask = { model: 'demo-transcribe', file: await wav(), stream: true, include: ['logprobs'] } as const
    const events = []
    for await (const event of await client.audio.transcriptions.create({ ...ask, include: ['logprobs'] }))
      events.push(event)
    const done = events.at(-1)
    expect(done).toMatchObject({ type: 'transcript.text.done', usage: { type: 'tokens' } })
    const deltas = events.flatMap((event) => (event.type === 'transcript.text.delta' ? [event] : []))
    expect(deltas.map(({ delta }) => delta).join('')).toBe(done && 'text' in done ? done.text : '')
    expect(deltas[0]?.logprobs).toHaveLength(1)
  })
})

describe('moderations with the OpenAI client', () => {
  it('return one result per text, and one for all parts of a mixed input', async () => {
    const { results, model } = await client.moderations.create({ input: ['Good morning', 'I will kill you'] })
    expect(model).toBe('omni-moderation-latest')
    expect(results.map(({ flagged }) => flagged)).toEqual([false, true])
    expect(results[1]).toMatchObject({ categories: { violence: true, hate: false } })
    expect(results[1]?.category_scores.violence).toBeGreaterThan(0.9)
    const url = 'data:image/png;base64,iVBORw0KGgo='
    const mixed = await client.moderations.create({
      input: [
        { type: 'text', text: 'Look' },
        { type: 'image_url', image_url: { url } },
      ],
    })
    expect(mixed.results).toHaveLength(1)
    expect(mixed.results[0]?.category_applied_input_types).toMatchObject({
      hate: ['text'],
      violence: ['text', 'image'],
    })
  })
})

describe('completions with the OpenAI client', () => {
  it('of several prompts keep their order, with n each, and stop at sixteen tokens', async () => {
    const { choices, usage } = await client.completions.create({
      model: 'demo-chat',
      prompt: ['Once', '[[say:Hi]]'],
      n: 2,
    })
    expect(choices.map(({ index, finish_reason }) => [index, finish_reason])).toEqual([
      [0, 'length'],
      [1, 'length'],
      [2, 'stop'],
      [3, 'stop'],
    ])
    expect(choices[2]?.text).toBe('Hi')
    expect(usage).toMatchObject({ prompt_tokens: 2, completion_tokens: 34 })
  })

  it('echo, count and stop on request, also streamed', async () => {
    const ask = {
      model: 'demo-chat',
      prompt: 'a [[say:one two three]]',
      echo: true,
      stop: ' three',
      logprobs: 1,
    } as const
    const { choices } = await client.completions.create(ask)
    expect(choices[0]).toMatchObject({ text: 'a [[say:one two three]]one two', finish_reason: 'stop' })
    const { tokens, text_offset: offsets } = choices[0]?.logprobs ?? {}
    expect(tokens?.map((token, index) => choices[0]?.text.startsWith(token, offsets?.[index]))).toEqual(
      tokens?.map(() => true),
    )
    let text = ''
    let usage: unknown
    const options = { stream: true, stream_options: { include_usage: true } } as const
    for await (const chunk of await client.completions.create({ ...ask, ...options })) {
      text += chunk.choices[0]?.text ?? ''
      usage = chunk.usage ?? usage
    }
    expect(text).toBe(choices[0]?.text)
    expect(usage).toMatchObject({ prompt_tokens: 4, completion_tokens: 2 })
  })
})
