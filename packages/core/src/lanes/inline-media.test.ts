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

/** A policy for everything below `images.test`, and what it was asked to fetch. */
function policy(options: Partial<MediaPolicy> = {}): { media: MediaPolicy; fetched: string[] } {
  const fetched: string[] = []
  const media: MediaPolicy = {
    allows: ({ hostname }) => hostname === 'images.test',
    async fetch(url) {
      fetched.push(url.href)
      if (url.pathname.includes('gone')) throw new GatewayError('invalid_request', 'its host answered 404')
      if (url.pathname.includes('broken')) throw new Error('connect ECONNREFUSED 10.0.0.7:443')
      return { bytes: png, mediaType: url.pathname.endsWith('.pdf') ? 'application/pdf' : 'image/png' }
    },
    ...options,
  }
  return { media, fetched }
}

const answers = { a: asJson(completion), m: asJson(message), g: asJson(generated) }
const image = (url: string) => ({ type: 'image_url', image_url: { url } })
const asked = (...content: object[]) => ({ messages: [{ role: 'user', content }] })
const sent = (body: string | undefined) => JSON.parse(body ?? 'null')

describe('media named by URL', () => {
  test('are fetched by nobody where there is no policy', async () => {
    const { chat, seen } = setUp(answers)
    await chat({ model: 'gemini-x', ...asked(image('https://images.test/a.png')) })
    expect(seen).toHaveLength(1)
    expect(sent(seen[0]?.body).contents[0].parts[0].fileData.fileUri).toBe('https://images.test/a.png')
  })

  test('are sent as data to a target that would not take the address, and it is said', async () => {
    const { media, fetched } = policy()
    const { chat, seen, finished } = setUp(answers, { media })
    const answer = await chat({ model: 'gemini-x', ...asked(image('https://images.test/a.png')) })
    expect(answer.status).toBe(200)
    expect(fetched).toEqual(['https://images.test/a.png'])
    expect(sent(seen[0]?.body).contents[0].parts[0]).toEqual({ inlineData: { mimeType: 'image/png', data: pngText } })
    expect(finished[0]?.losses).toContainEqual({
      path: '/messages/0/content/0',
      kind: 'moved',
      severity: 'note',
      detail: 'it was fetched, and sent as data',
    })
  })

  test('are left to a target that takes the address', async () => {
    const { media, fetched } = policy()
    const { chat, seen } = setUp(answers, { media })
    await chat({ model: 'claude-x', ...asked(image('https://images.test/a.png')) })
    await chat({ model: 'real', ...asked(image('https://images.test/a.png')) })
    expect(fetched).toEqual([])
    expect(sent(seen[0]?.body).messages[0].content[0].source).toEqual({ type: 'url', url: 'https://images.test/a.png' })
  })

  test('are sent as data to every target where the policy says always, the client’s own format included', async () => {
    const { media, fetched } = policy({ inline: 'always' })
    const { chat, seen } = setUp(answers, { media })
    await chat({ model: 'claude-x', ...asked(image('https://images.test/a.png')) })
    await chat({ model: 'real', ...asked(image('https://images.test/a.png')) })
    expect(fetched).toHaveLength(2)
    expect(sent(seen[0]?.body).messages[0].content[0].source).toEqual({
      type: 'base64',
      media_type: 'image/png',
      data: pngText,
    })
    expect(sent(seen[1]?.body).messages[0].content[0].image_url.url).toBe(`data:image/png;base64,${pngText}`)
  })

  test('that the policy does not allow stay addresses, whatever they are', async () => {
    const { media, fetched } = policy()
    const { chat, seen } = setUp(answers, { media })
    for (const url of [
      'https://elsewhere.test/a.png',
      'http://169.254.169.254/latest',
      'https://images.test.evil.test/',
    ])
      await chat({ model: 'gemini-x', ...asked(image(url)) })
    expect(fetched).toEqual([])
    expect(sent(seen[1]?.body).contents[0].parts[0].fileData.fileUri).toBe('http://169.254.169.254/latest')
  })

  test('are fetched once, however often they are named, in results of tools too', async () => {
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

  test('that cannot be had stay addresses where those may do, and it is said why', async () => {
    const { media } = policy()
    const { chat, seen } = setUp(answers, { media })
    const answer = await chat({ model: 'gemini-x', ...asked(image('https://images.test/gone.png')) })
    expect(answer.status).toBe(200)
    expect(sent(seen[0]?.body).contents[0].parts[0].fileData.fileUri).toBe('https://images.test/gone.png')
    expect(answer.headers.get('modelgate-loss')).toContain('"/messages/0/content/0";kind=unsupported;severity=warn')
  })

  test('that cannot be had, for a target without addresses: 400 that names the field and the reason, and nothing internal', async () => {
    const { media } = policy()
    const upstreams = { a: openai({ apiKey: 'any', baseURL: 'http://a/v1', formats: ['chat'] }) }
    const { post, seen } = setUp(answers, { media, upstreams, models: { real: 'a' } })
    const ask = (file: string) =>
      post('/v1/responses', {
        model: 'real',
        input: [{ role: 'user', content: [{ type: 'input_file', file_url: `https://images.test/${file}` }] }],
      })
    for (const [file, reason] of [
      ['gone.pdf', 'its host answered 404'],
      ['broken.pdf', 'it could not be fetched'],
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

  test('more than the policy’s number are refused', async () => {
    const { media, fetched } = policy({ maxCount: 2 })
    const { chat } = setUp(answers, { media })
    const answer = await chat({
      model: 'gemini-x',
      ...asked(...[1, 2, 3].map((number) => image(`https://images.test/${number}.png`))),
    })
    expect(answer.status).toBe(400)
    expect(await answer.text()).toContain('3 files by URL')
    expect(fetched).toEqual([])
  })

  test('more bytes than the policy’s number are refused, and not all fetched first', async () => {
    const { media, fetched } = policy({ maxTotalBytes: 3 * png.length })
    const { chat } = setUp(answers, { media })
    const images = Array.from({ length: 12 }, (_, number) => image(`https://images.test/${number}.png`))
    const answer = await chat({ model: 'gemini-x', ...asked(...images) })
    expect(answer.status).toBe(400)
    expect(await answer.text()).toContain('larger than 12 bytes together')
    expect(fetched).toHaveLength(4)
  })

  describe('named by several parts', () => {
    const url = 'https://images.test/a.png'
    const same = (count: number) => asked(...Array.from({ length: count }, () => image(url)))

    test('count each: their number', async () => {
      const { media, fetched } = policy()
      const { chat, seen } = setUp(answers, { media })
      expect((await chat({ model: 'gemini-x', ...same(20) })).status).toBe(200)
      const answer = await chat({ model: 'gemini-x', ...same(21) })
      const { error } = (await answer.json()) as { error: { message: string; param: string } }
      expect([answer.status, error.param]).toEqual([400, 'messages.0.content.20'])
      expect(error.message).toContain('21 files by URL')
      expect([seen.length, fetched.length]).toEqual([1, 1])
    })

    test('count each: their bytes, before they are copied', async () => {
      const { media, fetched } = policy({ maxTotalBytes: 5 * png.length })
      const { chat, seen } = setUp(answers, { media })
      expect((await chat({ model: 'gemini-x', ...same(5) })).status).toBe(200)
      const answer = await chat({ model: 'gemini-x', ...same(6) })
      const { error } = (await answer.json()) as { error: { message: string; param: string } }
      expect([answer.status, error.param]).toEqual([400, 'messages.0.content.0'])
      expect(error.message).toContain('larger than 20 bytes together')
      expect([seen.length, fetched.length]).toEqual([1, 2])
    })

    test('count each: documents, and images in results of tools', async () => {
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
      expect(await answer.text()).toContain('larger than 8 bytes together')
    })

    test('count again for each target of a plan, and are fetched once for all of them', async () => {
      const { media, fetched } = policy({ maxTotalBytes: 5 * png.length })
      const { chat, seen } = setUp(answers, { media, models: { both: { targets: ['g', 'm'] } } })
      const answer = await chat({ model: 'both', ...same(6) })
      // Messages take the address.
      expect([answer.status, seen.length, fetched.length]).toEqual([200, 1, 1])
      expect(seen[0]?.url).toContain('/messages')
    })

    test('count by what a client may send itself where the policy says nothing', async () => {
      const bytes = new Uint8Array(300)
      const { media } = policy({ fetch: async () => ({ bytes, mediaType: 'image/png' }) })
      const { chat, seen } = setUp(answers, { media, limits: { bodyBytes: 1000 } })
      expect((await chat({ model: 'gemini-x', ...same(3) })).status).toBe(200)
      expect((await chat({ model: 'gemini-x', ...same(4) })).status).toBe(400)
      expect(seen).toHaveLength(1)
    })

    test('count also where they are sent as data though their address would do', async () => {
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

  test('of many parts, each loss is looked at twice, not once for each part', async () => {
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
  ] as const)('a policy without a bound is refused: %s %s', (name, value) => {
    expect(() => setUp(answers, { media: policy({ [name]: value }).media })).toThrow(`media.${name} is ${value}: write`)
  })

  test('a policy that is none is refused with what to write instead', () => {
    expect(() => setUp(answers, { media: {} as MediaPolicy })).toThrow(/mediaFetcher\(\{ hosts/)
  })
})
