import { GoogleGenAI } from '@google/genai'
import { azure, type Upstream, vertex } from '@modelgate/core'
import { callUrl, geminiCodec } from '@modelgate/core/test-support'
import { AzureOpenAI } from 'openai'
import { afterAll, describe, expect, test } from 'vitest'
import { objectOf, textOf } from '../base/json.ts'
import { haveRecordings, whyNoRecordings } from '../base/recorded-traffic.ts'
import { type CloudCall, callOf, cloudExchanges } from './cloud-exchanges.ts'

if (!haveRecordings) console.log(`Azure and Vertex AI: ${whyNoRecordings}`)

/** Upstream paths by the operation of a recorded call. */
const paths: Readonly<
  Record<string, (upstream: Upstream) => readonly [path: string | undefined, ending?: string | undefined]>
> = {
  'chat/completions': ({ formats }) => [formats.chat],
  responses: ({ formats }) => [formats.responses],
  completions: ({ operations }) => [operations?.completions?.openai],
  embeddings: ({ operations }) => [operations?.embeddings?.openai],
  generateContent: ({ formats }) => [formats.gemini, geminiCodec.modelInPath?.whole],
  streamGenerateContent: ({ formats }) => [formats.gemini, geminiCodec.modelInPath?.stream],
  embedContent: ({ operations }) => [operations?.embeddings?.['vertex-content'], '/{model}:embedContent'],
}

function urlOf({ upstream, model, what }: CloudCall, requestPath: string): string {
  const [path, ending] = paths[what]?.(upstream) ?? []
  if (path === undefined) throw new Error(`no path for ${what}`)
  return callUrl(upstream, path, ending, model ?? requestPath)
}

describe.skipIf(!haveRecordings)('recorded calls of Azure and Vertex AI', () => {
  const exchanges = cloudExchanges()
  const calls = exchanges.flatMap((exchange) => {
    const call = callOf(exchange)
    return call === undefined ? [] : [{ exchange, call }]
  })
  const kinds: Record<string, number> = {}
  afterAll(() => {
    const lines = Object.entries(kinds).map(([what, count]) => `${what} ${count}`)
    console.log(`Azure and Vertex AI: ${calls.length} of ${exchanges.length} calls; ${lines.join(' · ')}`)
  })

  test('are sent to the recorded host, path and query', () => {
    for (const { exchange, call } of calls) {
      const url = urlOf(call, textOf(objectOf(exchange.request).model) || 'unknown')
      expect(url, exchange.path).toBe(exchange.url.href)
      const kind = `${exchange.url.host.replace(/^.*?(?=openai\.azure|services\.|aiplatform)/, '')} ${call.what}`
      kinds[kind] = (kinds[kind] ?? 0) + 1
    }
    expect(calls.length).toBeGreaterThanOrEqual(260)
  })

  test('are excluded only if no such URL exists', () => {
    const others = exchanges.filter((exchange) => callOf(exchange) === undefined)
    const made = new Set(others.map(({ url }) => url.pathname.replace(/:\w+$/, '')))
    // The sample responses of one SDK have no request, and one client was configured without a deployment: 404.
    expect([...made].sort()).toEqual(['/chat/completions', '/v1/models/gemini', '/v1/models/imagen-3'])
    expect(others.find(({ url }) => url.pathname === '/chat/completions')?.status).toBe(404)
  })
})

/** Records the URLs that an SDK calls, without responses. */
function spy(): { readonly urls: string[]; readonly fetch: typeof fetch } {
  const urls: string[] = []
  return {
    urls,
    fetch: async (input) => {
      const url = input instanceof Request ? input.url : String(input)
      // One SDK uses such a URL to detect what its fetch supports.
      if (!url.startsWith('data:')) urls.push(url)
      return url.includes('alt=sse')
        ? new Response('data: {}\n\n', { headers: { 'content-type': 'text/event-stream' } })
        : new Response('{}', { headers: { 'content-type': 'application/json' } })
    },
  }
}

describe("OpenAI's SDK for Azure", () => {
  const apiVersion = '2025-04-01-preview'
  const upstream = azure({ resource: 'res', apiKey: 'k', apiVersion })
  const model = 'my-deployment'
  const messages = [{ role: 'user' as const, content: 'hi' }]
  const file = new File(['x'], 'x.wav')

  test.each<[name: string, path: string | undefined, (client: AzureOpenAI) => Promise<unknown>]>([
    ['chat', upstream.formats.chat, (client) => client.chat.completions.create({ model, messages })],
    ['responses', upstream.formats.responses, (client) => client.responses.create({ model, input: 'hi' })],
    [
      'completions',
      upstream.operations?.completions?.openai,
      (client) => client.completions.create({ model, prompt: 'hi' }),
    ],
    [
      'embeddings',
      upstream.operations?.embeddings?.openai,
      (client) => client.embeddings.create({ model, input: 'hi', encoding_format: 'float' }),
    ],
    ['images', upstream.operations?.images?.openai, (client) => client.images.generate({ model, prompt: 'a cat' })],
    [
      'speech',
      upstream.operations?.speech?.openai,
      (client) => client.audio.speech.create({ model, input: 'hi', voice: 'alloy' }),
    ],
    [
      'transcriptions',
      upstream.operations?.transcriptions?.openai,
      (client) => client.audio.transcriptions.create({ model, file }),
    ],
    [
      'translations',
      upstream.operations?.translations?.openai,
      (client) => client.audio.translations.create({ model, file }),
    ],
    [
      'image-edits',
      upstream.operations?.['image-edits']?.openai,
      (client) => client.images.edit({ model, prompt: 'a cat', image: file }),
    ],
  ])('calls the same URL as the gateway for %s', async (_, path, call) => {
    const { urls, fetch } = spy()
    const client = new AzureOpenAI({
      endpoint: 'https://res.openai.azure.com',
      apiKey: 'k',
      apiVersion,
      fetch,
      deployment: model,
    })
    await call(client)
    expect(urls).toEqual([callUrl(upstream, path as string, undefined, model)])
  })
})

/** The part of a Google account that the SDK needs. */
const account = { getRequestHeaders: async () => new Headers({ authorization: 'Bearer t' }) }

describe("Google's SDK for Vertex AI", () => {
  const ask = { model: 'gemini-x', contents: 'hi' }

  test.each([
    [{ apiKey: 'k' }, vertex({ apiKey: 'k', apiVersion: 'v1beta1' })],
    [
      { project: 'p', location: 'europe-west4' },
      vertex({ project: 'p', location: 'europe-west4', token: () => 't', apiVersion: 'v1beta1' }),
    ],
    [{ project: 'p', location: 'global' }, vertex({ project: 'p', token: () => 't', apiVersion: 'v1beta1' })],
    [
      { project: 'p', location: 'eu' },
      vertex({ project: 'p', location: 'eu', token: () => 't', apiVersion: 'v1beta1' }),
    ],
  ])('calls the same URLs as the gateway with %j', async (options, upstream) => {
    const { urls, fetch } = spy()
    const before = globalThis.fetch
    globalThis.fetch = fetch
    try {
      const client = new GoogleGenAI({
        vertexai: true,
        ...options,
        ...('apiKey' in options ? {} : { googleAuthOptions: { authClient: account as never } }),
      })
      await client.models.generateContent(ask)
      for await (const _ of await client.models.generateContentStream(ask));
      await client.models.countTokens(ask)
    } finally {
      globalThis.fetch = before
    }
    const { modelInPath, count } = geminiCodec
    const path = upstream.formats.gemini as string
    expect(urls).toEqual([
      callUrl(upstream, path, modelInPath?.whole, 'gemini-x'),
      callUrl(upstream, path, modelInPath?.stream, 'gemini-x'),
      callUrl(upstream, upstream.countTokens?.gemini as string, count?.pathEnding, 'gemini-x'),
    ])
  })
})
