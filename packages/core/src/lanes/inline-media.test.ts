import { describe, expect, test } from 'vitest'
import { createCanceller } from '../base/async.ts'
import { GatewayError } from '../base/errors.ts'
import type { MediaPolicy } from '../config/media-policy.ts'
import type { ModelRequest } from '../formats/ir.ts'
import type { RequestBody } from '../formats/request-body.ts'
import { asJson, completion, generated, message, setUp } from '../gateway/create-gateway.test-support.ts'
import { openai } from '../upstreams/openai.ts'
import { type RequestEdit, translateWithMedia } from './inline-media.ts'
import type { Lane } from './lane.ts'

const png = new Uint8Array([0x89, 0x50, 0x4e, 0x47])
const pngText = 'iVBORw=='

/** Creates a policy that allows `images.test` and records the URLs that it fetches. */
function policy(options: Partial<MediaPolicy> = {}): { media: MediaPolicy; fetched: string[] } {
  const fetched: string[] = []
  const media: MediaPolicy = {
    allows: ({ hostname }) => hostname === 'images.test',
    async fetch(url) {
      fetched.push(url.href)
      if (url.pathname.includes('gone'))
        throw new GatewayError('invalid_request', 'the host of the URL returned status 404')
      if (url.pathname.includes('broken')) throw new Error('connect ECONNREFUSED 10.0.0.7:443')
      return { bytes: png, mediaType: url.pathname.endsWith('.pdf') ? 'application/pdf' : 'image/png' }
    },
    ...options,
  }
  return { media, fetched }
}

const answers = { a: asJson(completion), m: asJson(message), g: asJson(generated) }
const image = (url: string) => ({ type: 'image_url', image_url: { url } })
const userMessage = (...content: object[]) => ({ messages: [{ role: 'user', content }] })
const sent = (body: string | undefined) => JSON.parse(body ?? 'null')

describe('media referenced by URL', () => {
  test('are not fetched without a policy', async () => {
    const { chat, seen } = setUp(answers)
    await chat({ model: 'gemini-x', ...userMessage(image('https://images.test/a.png')) })
    expect(seen).toHaveLength(1)
    expect(sent(seen[0]?.body).contents[0].parts[0].fileData.fileUri).toBe('https://images.test/a.png')
  })

  test('are sent as data, with a reported note, to a target that does not accept the URL', async () => {
    const { media, fetched } = policy()
    const { chat, seen, finished } = setUp(answers, { media })
    const answer = await chat({ model: 'gemini-x', ...userMessage(image('https://images.test/a.png')) })
    expect(answer.status).toBe(200)
    expect(fetched).toEqual(['https://images.test/a.png'])
    expect(sent(seen[0]?.body).contents[0].parts[0]).toEqual({ inlineData: { mimeType: 'image/png', data: pngText } })
    expect(finished[0]?.losses).toContainEqual({
      path: '/messages/0/content/0',
      kind: 'moved',
      severity: 'note',
      detail: 'the file was fetched and sent as data',
    })
  })

  test('are sent as URLs to a target that accepts URLs', async () => {
    const { media, fetched } = policy()
    const { chat, seen } = setUp(answers, { media })
    await chat({ model: 'claude-x', ...userMessage(image('https://images.test/a.png')) })
    await chat({ model: 'real', ...userMessage(image('https://images.test/a.png')) })
    expect(fetched).toEqual([])
    expect(sent(seen[0]?.body).messages[0].content[0].source).toEqual({ type: 'url', url: 'https://images.test/a.png' })
  })

  test("are sent as data to every target, including one of the client’s format, with inline: 'always'", async () => {
    const { media, fetched } = policy({ inline: 'always' })
    const { chat, seen } = setUp(answers, { media })
    await chat({ model: 'claude-x', ...userMessage(image('https://images.test/a.png')) })
    await chat({ model: 'real', ...userMessage(image('https://images.test/a.png')) })
    expect(fetched).toHaveLength(2)
    expect(sent(seen[0]?.body).messages[0].content[0].source).toEqual({
      type: 'base64',
      media_type: 'image/png',
      data: pngText,
    })
    expect(sent(seen[1]?.body).messages[0].content[0].image_url.url).toBe(`data:image/png;base64,${pngText}`)
  })

  test('are sent as URLs if the policy does not allow them', async () => {
    const { media, fetched } = policy()
    const { chat, seen } = setUp(answers, { media })
    for (const url of [
      'https://elsewhere.test/a.png',
      'http://169.254.169.254/latest',
      'https://images.test.evil.test/',
    ])
      await chat({ model: 'gemini-x', ...userMessage(image(url)) })
    expect(fetched).toEqual([])
    expect(sent(seen[1]?.body).contents[0].parts[0].fileData.fileUri).toBe('http://169.254.169.254/latest')
  })

  test('are fetched once even if several parts and tool results reference them', async () => {
    const { media, fetched } = policy()
    const { messages } = setUp(answers, { media })
    const source = { type: 'url', url: 'https://images.test/a.png' }
    const answer = await messages({
      model: 'gemini-x',
      tools: [{ name: 'look', input_schema: { type: 'object' } }],
      messages: [
        { role: 'user', content: [{ type: 'image', source }] },
        { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'look', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: [{ type: 'image', source }] }] },
      ],
    })
    expect(answer.status).toBe(200)
    expect(fetched).toEqual(['https://images.test/a.png'])
  })

  test('are sent as URLs, with a reported loss, if fetching fails and the target may accept URLs', async () => {
    const { media } = policy()
    const { chat, seen } = setUp(answers, { media })
    const answer = await chat({ model: 'gemini-x', ...userMessage(image('https://images.test/gone.png')) })
    expect(answer.status).toBe(200)
    expect(sent(seen[0]?.body).contents[0].parts[0].fileData.fileUri).toBe('https://images.test/gone.png')
    expect(answer.headers.get('modelgate-loss')).toContain('"/messages/0/content/0";kind=unsupported;severity=warn')
  })

  test('are rejected with 400, the field and a public reason if fetching fails and the target accepts no URLs', async () => {
    const { media } = policy()
    const upstreams = { a: openai({ apiKey: 'any', baseURL: 'http://a/v1', formats: ['chat'] }) }
    const { post, seen } = setUp(answers, { media, upstreams, models: { real: 'a' } })
    const ask = (file: string) =>
      post('/v1/responses', {
        model: 'real',
        input: [{ role: 'user', content: [{ type: 'input_file', file_url: `https://images.test/${file}` }] }],
      })
    for (const [file, reason] of [
      ['gone.pdf', 'the host of the URL returned status 404'],
      ['broken.pdf', 'the file could not be fetched'],
    ] as const) {
      const answer = await ask(file)
      const { error } = (await answer.json()) as { error: { message: string; param: string } }
      expect([answer.status, error.param]).toEqual([400, 'input.0.content.0'])
      expect(error.message).toContain(reason)
      expect(error.message).not.toMatch(/10\.0\.0\.7|ECONN/)
    }
    expect(seen).toHaveLength(0)
    expect((await ask('fine.pdf')).status).toBe(200)
    expect(sent(seen[0]?.body).messages[0].content[0].file).toMatchObject({ filename: 'fine.pdf' })
  })

  test('are rejected above maxCount', async () => {
    const { media, fetched } = policy({ maxCount: 2 })
    const { chat } = setUp(answers, { media })
    const answer = await chat({
      model: 'gemini-x',
      ...userMessage(...[1, 2, 3].map((number) => image(`https://images.test/${number}.png`))),
    })
    expect(answer.status).toBe(400)
    expect(await answer.text()).toContain('3 file URLs')
    expect(fetched).toEqual([])
  })

  test('are rejected above maxTotalBytes before all of them are fetched', async () => {
    const { media, fetched } = policy({ maxTotalBytes: 3 * png.length })
    const { chat } = setUp(answers, { media })
    const images = Array.from({ length: 12 }, (_, number) => image(`https://images.test/${number}.png`))
    const answer = await chat({ model: 'gemini-x', ...userMessage(...images) })
    expect(answer.status).toBe(400)
    expect(await answer.text()).toContain('exceed 12 bytes in total')
    expect(fetched).toHaveLength(4)
  })

  describe('in several parts', () => {
    const url = 'https://images.test/a.png'
    const same = (count: number) => userMessage(...Array.from({ length: count }, () => image(url)))

    test('count once per part towards maxCount', async () => {
      const { media, fetched } = policy()
      const { chat, seen } = setUp(answers, { media })
      expect((await chat({ model: 'gemini-x', ...same(20) })).status).toBe(200)
      const answer = await chat({ model: 'gemini-x', ...same(21) })
      const { error } = (await answer.json()) as { error: { message: string; param: string } }
      expect([answer.status, error.param]).toEqual([400, 'messages.0.content.20'])
      expect(error.message).toContain('21 file URLs')
      expect([seen.length, fetched.length]).toEqual([1, 1])
    })

    test('count once per part towards maxTotalBytes before they are copied', async () => {
      const { media, fetched } = policy({ maxTotalBytes: 5 * png.length })
      const { chat, seen } = setUp(answers, { media })
      expect((await chat({ model: 'gemini-x', ...same(5) })).status).toBe(200)
      const answer = await chat({ model: 'gemini-x', ...same(6) })
      const { error } = (await answer.json()) as { error: { message: string; param: string } }
      expect([answer.status, error.param]).toEqual([400, 'messages.0.content.0'])
      expect(error.message).toContain('exceed 20 bytes in total')
      expect([seen.length, fetched.length]).toEqual([1, 2])
    })

    test('count once per part as documents and as images in tool results', async () => {
      const { media } = policy({ maxTotalBytes: 2 * png.length })
      const upstreams = { a: openai({ apiKey: 'any', baseURL: 'http://a/v1', formats: ['chat'] }) }
      const documents = setUp(answers, { media, upstreams, models: { real: 'a' } })
      const file = { type: 'input_file', file_url: 'https://images.test/fine.pdf' }
      const ask = (...content: object[]) =>
        documents.post('/v1/responses', { model: 'real', input: [{ role: 'user', content }] })
      expect((await ask(file, file)).status).toBe(200)
      expect((await ask(file, file, file)).status).toBe(400)
      const { messages } = setUp(answers, { media })
      const picture = { type: 'image', source: { type: 'url', url } }
      const answer = await messages({
        model: 'gemini-x',
        tools: [{ name: 'look', input_schema: { type: 'object' } }],
        messages: [
          { role: 'user', content: [picture] },
          { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'look', input: {} }] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: [picture, picture] }] },
        ],
      })
      expect(answer.status).toBe(400)
      expect(await answer.text()).toContain('exceed 8 bytes in total')
    })

    test('count separately for each target of a plan but are fetched once for all targets', async () => {
      const { media, fetched } = policy({ maxTotalBytes: 5 * png.length })
      const { chat, seen } = setUp(answers, { media, models: { both: { targets: ['g', 'm'] } } })
      const answer = await chat({ model: 'both', ...same(6) })
      // The messages format accepts the URL.
      expect([answer.status, seen.length, fetched.length]).toEqual([200, 1, 1])
      expect(seen[0]?.url).toContain('/messages')
    })

    test('are limited by bodyBytes if the policy has no maxTotalBytes', async () => {
      const bytes = new Uint8Array(300)
      const { media } = policy({ fetch: async () => ({ bytes, mediaType: 'image/png' }) })
      const { chat, seen } = setUp(answers, { media, limits: { bodyBytes: 1000 } })
      expect((await chat({ model: 'gemini-x', ...same(3) })).status).toBe(200)
      expect((await chat({ model: 'gemini-x', ...same(4) })).status).toBe(400)
      expect(seen).toHaveLength(1)
    })

    test('count even if they are sent as data to a target that accepts URLs', async () => {
      const { media } = policy({ inline: 'always', maxTotalBytes: 2 * png.length })
      const { chat, finished } = setUp(answers, { media })
      expect((await chat({ model: 'real', ...same(3) })).status).toBe(400)
      expect((await chat({ model: 'real', ...same(2) })).status).toBe(200)
      expect(finished.at(-1)?.losses.map(({ path }) => path)).toEqual([
        '/messages/0/content/0',
        '/messages/0/content/1',
      ])
    })
  })

  test('read each loss twice rather than once for each of many parts', async () => {
    const { media } = policy()
    const parts = Array.from({ length: 1000 }, (_, number) => ({
      type: 'media',
      kind: 'image',
      at: `/messages/0/content/${number}`,
      source: { type: 'url', url: `https://images.test/${number}.png` },
    }))
    let looks = 0
    const losses = parts.map(({ at }) => ({
      get path() {
        looks++
        return at
      },
      severity: 'warn',
    }))
    const translate = (edit: RequestEdit): Lane => {
      edit({ turns: [{ role: 'user', parts: structuredClone(parts) }] } as unknown as ModelRequest)
      return { report: { losses } } as unknown as Lane
    }
    const limits = { callbackMs: 1000, firstByteMs: 1000 }
    const fetching = { policy: media, maxTotalBytes: 1000, signal: createCanceller(), logger: console, limits }
    await translateWithMedia({} as RequestBody, fetching, translate)
    expect(looks).toBe(2000)
  })

  test.each([
    ['maxCount', Number.NaN],
    ['maxTotalBytes', Number.POSITIVE_INFINITY],
    ['maxTotalBytes', 0],
  ] as const)('require a policy with finite, positive limits: %s %s is rejected', (name, value) => {
    expect(() => setUp(answers, { media: policy({ [name]: value }).media })).toThrow(`media.${name} is ${value}: write`)
  })

  test('require a valid policy: an empty object is rejected with an example', () => {
    expect(() => setUp(answers, { media: {} as MediaPolicy })).toThrow(/mediaFetcher\(\{ hosts/)
  })
})
