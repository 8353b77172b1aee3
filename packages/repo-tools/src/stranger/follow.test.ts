import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startFakeProviders } from '../packed/fake-providers.mjs'
import { follow, lacks, unanswered } from './follow.mjs'

// Tests of the follower itself. `npm run stranger` follows the real pages with packed packages.

let home: Awaited<ReturnType<typeof startFakeProviders>>
beforeAll(async () => {
  home = await startFakeProviders()
})
afterAll(() => home.close())

const block = (language: string, text: string): string => `\`\`\`${language}\n${text}\n\`\`\`\n\n`
const followed = (...blocks: string[]) =>
  follow('page.md', `# A page\n\n${blocks.join('')}`, { env: {}, home: home.port })

const server = block(
  'js server.mjs',
  "import http from 'node:http'\nhttp.createServer((_, out) => out.end('hello')).listen(8787)",
)

for (const program of lacks) console.log(`no ${program} here: no page is followed`)

describe.runIf(lacks.length === 0)('following a page', () => {
  it('writes its files, runs its commands and calls its server', async () => {
    const ask = "const text = await (await fetch('http://localhost:8787')).text()\nconsole.log('messages:', text)"
    const page = [
      server,
      block('sh', 'node server.mjs'),
      block('js ask.mjs', ask),
      block('sh', 'node ask.mjs\ncurl http://localhost:8787'),
    ]
    expect(await followed(...page)).toMatchObject({ answers: [{ format: 'messages', text: 'hello' }], steps: 4 })
  })

  it('keeps exported variables from block to block', async () => {
    const page = [block('sh', 'export WORD=kept'), block('sh', 'echo "responses: $WORD"')]
    expect((await followed(...page)).answers).toEqual([{ format: 'responses', text: 'kept' }])
  })

  it('redirects every client to fake providers', async () => {
    const ask = `const headers = { authorization: 'Bearer k' }
console.log('responses:', (await fetch('https://api.openai.com/v1/models', { headers })).status)`
    expect((await followed(block('js ask.mjs', ask), block('sh', 'node ask.mjs'))).answers[0]?.text).toBe('200')
  })

  it("follows the tab of the reader's host", async () => {
    const tabs = `::: code-group\n\n${block('sh [Bun]', '# Bun\necho messages: bun')}${block('sh [Other hosts]', 'echo messages: node')}:::\n`
    const followPage = (host?: string) =>
      follow('page.md', tabs, { env: {}, home: home.port, ...(host ? { host } : {}) })
    expect((await followPage('Bun')).answers).toEqual([{ format: 'messages', text: 'bun' }])
    expect((await followPage('Express')).answers).toEqual([{ format: 'messages', text: 'node' }])
    await expect(followPage()).rejects.toThrow('name a host')
  })

  it('starts a server whose command has a comment above it', async () => {
    const start = block('sh [Express, Hono]', '# Express, Hono\nnode server.mjs')
    const page = `${server}::: code-group\n\n${start}:::\n\n${block('sh', 'curl http://127.0.0.1:8787')}`
    expect((await follow('page.md', page, { env: {}, home: home.port, host: 'Hono' })).steps).toBe(3)
    const missing = follow('page.md', page, { env: {}, home: home.port, host: 'Fastify' })
    await expect(missing).rejects.toThrow(/page\.md:\d+: no tab for Fastify/)
  })

  it.each([
    [
      'a command that fails',
      [block('sh', 'echo one\nfalse\necho two')],
      /^page\.md:4: this failed:[\s\S]*It printed:\none$/,
    ],
    [
      'a program that throws',
      [block('js a.mjs', "throw new Error('broken')"), block('sh', 'node a.mjs')],
      /page\.md:8: [\s\S]*broken/,
    ],
    [
      'a server that dies',
      [block('js server.mjs', 'boom()'), block('sh', 'node server.mjs')],
      /ended before it served[\s\S]*boom is not defined/,
    ],
    [
      'an answer above 400',
      [
        server.replace('out.end', 'out.writeHead(404).end'),
        block('sh', 'node server.mjs'),
        block('sh', 'curl http://localhost:8787'),
      ],
      /page\.md:13: this failed[\s\S]*The server of the page/,
    ],
    [
      'a call into the network',
      [block('js a.mjs', "await fetch('https://example.com')"), block('sh', 'node a.mjs')],
      /nothing may leave this machine/,
    ],
  ])('fails with %s', async (_, page, message) => {
    await expect(followed(...page)).rejects.toThrow(message)
  })
})

it.runIf(lacks.length === 0)('names the SDK without a response', async () => {
  const lines = [
    'chat completions: Hello',
    'chat completions: undefined',
    'responses: undefined',
    'generateContent: Hi',
  ]
  const { answers } = await followed(block('sh', `printf '${lines.join('\\n')}\\n'`))
  expect(unanswered(answers)).toEqual(['chat completions', 'responses', 'messages'])
})
