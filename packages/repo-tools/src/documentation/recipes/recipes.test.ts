import { spawnSync } from 'node:child_process'
import { redisProgram, startRedis, type TestRedis, withoutRedisToKill } from '@modelgate/tokens/test-support'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startFakeProviders } from '../../packed/fake-providers.mjs'
import { blocks, documents, isCode, read } from '../pages.mjs'
import { agentRequests } from './agent-requests.ts'
import { followRecipe, imported, installed, missingLine } from './recipe.ts'

const pages = documents.filter((page) => /^docs\/recipes\/(?!README|migrate-)/.test(page))

const needsRedis = (page: string): boolean => read(page).includes("from 'redis'")
if (withoutRedisToKill !== undefined) console.log(`recipes with Redis are left out: ${withoutRedisToKill}`)

let home: Awaited<ReturnType<typeof startFakeProviders>>
let redis: TestRedis | undefined
beforeAll(async () => {
  home = await startFakeProviders()
  if (redisProgram !== undefined) redis = await startRedis()
})
afterAll(async () => {
  await Promise.all([home.close(), redis?.close()])
})

const options = () => ({
  provider: home.port,
  ...(redis === undefined ? {} : { ports: { 6379: Number(new URL(redis.url).port) } }),
})

describe.each(pages)('%s', (page) => {
  const own = blocks.filter((block) => block.page === page)

  it.skipIf(needsRedis(page) && withoutRedisToKill !== undefined)(
    'contains programs that print what the page shows, without a key and a network',
    async () => {
      const calls = home.provider.requests.length
      const { problems, compared } = await followRecipe(page, read(page), options())
      expect(problems).toEqual([])
      expect(compared).toBeGreaterThan(0)
      expect(home.provider.requests.length).toBe(calls)
    },
  )

  it('installs the packages that its programs import', () => {
    expect([...new Set(installed(own))].sort()).toEqual([...new Set(imported(own))].sort())
  })

  it('has programs of at most 50 lines that listen on 127.0.0.1', () => {
    const programs = own.filter((block) => isCode(block) && block.file !== undefined)
    expect(programs.length).toBeGreaterThan(0)
    for (const { text, place } of programs)
      expect(`${place}: ${text.split('\n').length}`).toMatch(/: (?:\d|[1-4]\d|5[01])$/)
    for (const { text } of programs)
      for (const [call] of text.matchAll(/\.listen\(.*/g)) expect(call).toContain("'127.0.0.1'")
  })

  it('is listed, and states known limitations', () => {
    expect(read('docs/recipes/README.md')).toContain(`](${page.slice('docs/recipes/'.length)})`)
    expect(read(page)).toMatch(/^## Known limitations$/m)
  })
})

describe('docs/recipes/claude-code-and-codex.md', () => {
  const page = 'docs/recipes/claude-code-and-codex.md'
  const upstreams: Record<string, [upstream: string, end: string]> = {
    'Claude Code': ['openai', 'event: message_stop'],
    Codex: ['claude', 'event: response.completed'],
  }

  it('responds to the recorded requests of both agents with a model of the other vendor', async () => {
    const visit = async (origin: string): Promise<void> => {
      for (const { agent, path, headers, body } of agentRequests) {
        const response = await fetch(origin + path, {
          method: 'POST',
          headers: { ...headers, authorization: 'Bearer my-token', 'content-type': 'application/json' },
          body: JSON.stringify(body),
        })
        const text = await response.text()
        expect([agent, response.status, text.slice(0, 200)]).toEqual([agent, 200, expect.any(String)])
        expect([response.headers.get('modelgate-upstream'), text]).toEqual([
          upstreams[agent]?.[0],
          expect.stringContaining(upstreams[agent]?.[1] ?? ''),
        ])
        expect(text).toContain('hello.')
      }
    }
    expect((await followRecipe(page, read(page), { ...options(), visit })).problems).toEqual([])
    expect.assertions(1 + 3 * agentRequests.length)
  })
})

describe('docs/recipes/prompt-caching.md', () => {
  const page = 'docs/recipes/prompt-caching.md'

  it('caches prompts of chat clients that set no cache marks', async () => {
    const cached: number[] = []
    const visit = async (origin: string): Promise<void> => {
      const system = { role: 'system', content: 'A long story. '.repeat(400) }
      for (const content of ['Who is in it?', 'Where is it?']) {
        const body = { model: 'claude-opus-5', messages: [system, { role: 'user', content }] }
        const headers = { authorization: 'Bearer my-token', 'content-type': 'application/json' }
        const response = await fetch(`${origin}/v1/chat/completions`, {
          method: 'POST',
          headers,
          body: JSON.stringify(body),
        })
        cached.push((await response.json()).usage.prompt_tokens_details.cached_tokens)
      }
    }
    expect((await followRecipe(page, read(page), { ...options(), visit })).problems).toEqual([])
    expect(cached).toEqual([0, expect.toSatisfy((count: number) => count > 1000)])
  })
})

describe('docs/recipes/log-to-a-database.md', () => {
  const page = 'docs/recipes/log-to-a-database.md'

  it('stores the sent part of a stream whose client disconnects, and aborts the upstream call', async () => {
    const visit = async (origin: string, folder: string): Promise<void> => {
      const client = new AbortController()
      const response = await fetch(`${origin}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: 'Bearer my-token', 'content-type': 'application/json' },
        body: JSON.stringify({
          model: 'gpt-5',
          stream: true,
          messages: [{ role: 'user', content: 'Please wait. [[stall after:4]]' }],
        }),
        signal: client.signal,
      })
      const reader = response.body?.getReader()
      expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toContain('data: ')
      client.abort()
      const rows = () => spawnSync(process.execPath, ['read.js'], { cwd: folder, encoding: 'utf8' }).stdout
      await expect
        .poll(rows, { timeout: 20_000 })
        .toMatch(/Please wait[\s\S]*response: 'data: [\s\S]*outcome: 'aborted'/)
      expect(rows().split('Please wait').at(-1)).not.toContain('[DONE]')
    }
    expect((await followRecipe(page, read(page), { ...options(), visit })).problems).toEqual([])
    expect.assertions(4)
  })
})

describe('a recipe', () => {
  const page = (program: string, commands: string, shown: string): string =>
    `\`\`\`js server.js\n${program}\n\`\`\`\n\n\`\`\`sh\nnode server.js\n\`\`\`\n\n\`\`\`sh\n${commands}\n\`\`\`\n\n\`\`\`text\n${shown}\n\`\`\`\n`
  const server =
    "import http from 'node:http'\nhttp.createServer((_, out) => out.end('hello')).listen(8787, '127.0.0.1', () => console.log('http://127.0.0.1:8787'))"
  const curl = 'curl http://127.0.0.1:8787/'

  it.each([
    ['output differs', page(server, curl, 'good bye'), "does not contain 'good bye':\nhello"],
    ['program fails', page("throw new Error('not today')", curl, 'hello'), 'not today'],
    [
      'program uses the network',
      page(
        server.replace("out.end('hello')", "fetch('http://example.com').catch((e) => out.end(String(e.cause.code)))"),
        curl,
        'hello',
      ),
      'ECONNREFUSED',
    ],
  ])('is reported if its %s', async (_, text, problem) => {
    expect((await followRecipe('here', text, options())).problems).toEqual([expect.stringContaining(problem)])
  })

  it('succeeds if the output is the shown one', async () => {
    expect(await followRecipe('here', page(server, curl, '…\nh…o'), options())).toEqual({ problems: [], compared: 1 })
  })

  it('must show lines in the order of the output', () => {
    expect(missingLine('a\n…\nb c…', 'a\nx\nb c d')).toBeUndefined()
    expect(missingLine('b\na', 'a\nb')).toBe('a')
  })
})
