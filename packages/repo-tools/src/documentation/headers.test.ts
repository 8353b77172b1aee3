import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { anthropic, createGateway, gemini, openai } from '@modelgate/core'
import { createFakeProvider } from '@modelgate/testing'
import { createTokens, memoryStorage } from '@modelgate/tokens'
import { describe, expect, it } from 'vitest'
import { root } from '../base/workspace.mjs'
import { read } from './pages.mjs'

const page = 'docs/reference/headers.md'

/** Returns the names in the first column of a section's table. */
function headersOf(section: string): string[] {
  const [, text = ''] = read(page).split(`\n## ${section}\n`)
  const [table = ''] = text.split(/^## /m)
  return [...table.matchAll(/^\| (`[^|]*) \|/gm)]
    .flatMap(([, names = '']) => [...names.matchAll(/`([a-z0-9-]+)`/g)].map(([, name = '']) => name))
    .sort()
}

const sources = ['core', 'node', 'hono', 'otel', 'tokens', 'console'].flatMap((name) =>
  readdirSync(join(root, `packages/${name}/src`), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !/\btest\b|^ui\//.test(file))
    .map((file) => ({ file: `${name}/src/${file}`, text: read(`packages/${name}/src/${file}`) })),
)

/** Files that read headers of upstream responses without naming the object `response`. */
const readsUpstream = (file: string): boolean => /transport|formats\/converse\/error/.test(file)
/** `inbound.header('x')`, `req.headers['x']`, `response.headers.get('x')`. */
const reads = /(?:(?:(\w+)\.)?\b(?:findH|h)eader\(|(?:(\w+)\.)?\bheaders\.get\(|(\w+)\.headers\[)'([a-z0-9-]+)'[)\]]/g
/** Constants whose string literals are names of client headers. */
const lists =
  /(?:const (?:sessionHeaders|keyHeaders|traceHeaderNames|passedOn) =|const listDialects =|names:|passHeaders:|const header =) *(\[[^\]]*\]|\{[^}]*\}|'[^']*'|[^\n]*)/g

const literalsIn = (text: string): string[] =>
  [...text.matchAll(/'([a-z0-9]+(?:-[a-z0-9]+)*)'/g)].map(([, name = '']) => name)

/** Returns the names of headers that the code reads from clients or from upstreams. */
function readHeaders(from: 'client' | 'upstream'): string[] {
  const found = new Set<string>()
  for (const { file, text } of sources) {
    for (const [, object = '', headersOwner, bracketOwner, name = ''] of text.matchAll(reads)) {
      const owner = headersOwner ?? bracketOwner ?? ''
      const isUpstream = [object, owner].includes('response') || readsUpstream(file)
      if (isUpstream === (from === 'upstream') && owner !== 'reply') found.add(name)
    }
    if (from === 'upstream') continue
    for (const [whole, list = ''] of text.matchAll(lists)) {
      const names = literalsIn(whole.includes('listDialects') ? list.replaceAll(/: '\w+'/g, '') : list)
      if (
        /^names:|^const header/.test(whole) &&
        !file.startsWith('core/src/operations/routes') &&
        !file.endsWith('loss-policy.ts')
      )
        continue
      for (const name of names) found.add(name)
    }
  }
  return [...found].sort()
}

const json = { 'content-type': 'application/json' }

/** Collects the names of all headers in responses of a gateway to calls of every kind. */
async function sentHeaders(): Promise<string[]> {
  const provider = createFakeProvider()
  const tokens = createTokens({ storage: memoryStorage(), logger: false })
  const budget = { tokens: 1_000_000, period: 'month' } as const
  const limits = { requests: 1000, tokens: 1_000_000, inputTokens: 1_000_000, outputTokens: 1_000_000 }
  const { secret } = await tokens.issue({ limits, budget })
  const gateway = createGateway({
    auth: tokens.authenticate,
    upstreams: {
      chat: openai({ formats: ['chat'], apiKey: 'k' }),
      claude: anthropic({ apiKey: 'k' }),
      google: gemini({ apiKey: 'k' }),
    },
    models: {
      chat: 'chat',
      claude: 'claude',
      skips: [
        { upstream: 'claude', onLoss: 'reject' },
        { upstream: 'chat', priority: 1 },
      ],
    },
    fetch: provider.fetch,
    retry: false,
    logger: false,
  })
  const found = new Set<string>()
  const call = async (method: string, path: string, body?: object | string, headers: Record<string, string> = {}) => {
    const response = await gateway.fetch(
      new Request(`http://gateway.test${path}`, {
        method,
        headers: { ...json, 'x-api-key': secret, 'anthropic-version': '2023-06-01', ...headers },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      }),
    )
    await response.text()
    for (const name of response.headers.keys()) found.add(name)
    return response
  }
  const messages = [{ role: 'user', content: 'Hello' }]
  await call('POST', '/v1/chat/completions', { model: 'chat', messages, stream: true })
  await call('POST', '/v1/chat/completions', { model: 'claude', messages, logprobs: true })
  await call('POST', '/v1/chat/completions', { model: 'skips', messages, logprobs: true })
  await call('POST', '/v1/messages', { model: 'claude', messages, max_tokens: 9 })
  await call('POST', '/v1/messages/count_tokens', { model: 'chat', messages })
  await call('POST', '/v1/audio/speech', { model: 'chat', input: 'Hello', voice: 'alloy' })
  await call('POST', '/v1/chat/completions', { model: 'chat', messages }, { 'x-api-key': 'unknown' })
  await call('GET', '/v1/chat/completions')
  await call('GET', '/v1/realtime?model=chat')
  const upload = await call(
    'POST',
    '/upload/v1beta/files',
    { file: {} },
    {
      'x-goog-upload-protocol': 'resumable',
      'x-goog-upload-command': 'start',
      'x-goog-upload-header-content-type': 'text/plain',
    },
  )
  const { pathname, search } = new URL(upload.headers.get('x-goog-upload-url') ?? '')
  await call('POST', pathname + search, {}, { 'x-goog-upload-command': 'query' })
  // Tokens with a budget cannot create calls.
  const { secret: unlimited } = await tokens.issue({})
  await call('POST', '/v1/realtime/calls?model=chat', 'v=0', {
    'x-api-key': unlimited,
    'content-type': 'application/sdp',
  })
  provider.reply({ status: 429 })
  await call('POST', '/v1/chat/completions', { model: 'chat', messages })
  await gateway.close()
  await tokens.close()
  return [...found].sort()
}

describe(page, () => {
  it('lists the headers that the code reads from clients', () => {
    expect(headersOf('Request headers')).toEqual(readHeaders('client'))
  })

  it('lists the headers that the code reads from upstreams', () => {
    expect(headersOf('Upstream response headers')).toEqual(readHeaders('upstream'))
  })

  it('lists the headers that responses contain', async () => {
    // Transports on `fetch` do not know the length of the bytes that they decode, so only Node sends it.
    const onEveryRuntime = headersOf('Response headers').filter((name) => name !== 'content-length')
    expect(onEveryRuntime).toEqual(await sentHeaders())
  })
})
