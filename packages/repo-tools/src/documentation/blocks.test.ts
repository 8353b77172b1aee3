import { describe, expect, it } from 'vitest'
import { followed } from '../stranger/followed-pages.mjs'
import { type Block, blocks, blocksFor, blocksIn, filesBefore, hostsOf, otherHosts } from './pages.mjs'

const fence = (info: string, text: string): string => `\`\`\`${info}\n${text}\n\`\`\`\n\n`
const group = (...fences: string[]): string => `::: code-group\n\n${fences.join('')}:::\n\n`
const read = (...parts: string[]): Block[] => blocksIn(`# A page\n\n${parts.join('')}`, 'page.md')
const texts = (found: readonly Block[]): string[] => found.map(({ text }) => text.trim())

describe('blocksIn', () => {
  it('reads the file name and the label of a tab from its info words', () => {
    const [tab] = read(group(fence('js app.js [Express]', 'start()')))
    expect(tab).toMatchObject({
      language: 'js',
      file: 'app.js',
      tab: { group: 0, label: 'Express' },
      place: 'page.md:6',
    })
  })

  it('reads the file name of a tab from its first line', () => {
    const tabs = read(
      group(
        fence('ts [Next.js]', '// Next.js: app/[...path]/route.ts\nstart()'),
        fence('ini [Server]', '# Server: .env\nA=b'),
      ),
    )
    expect(tabs.map(({ file }) => file)).toEqual(['app/[...path]/route.ts', '.env'])
  })

  it('takes no other first line for a file name', () => {
    const tabs = read(group(fence('sh [Bun]', '# Bun reads .env itself\nbun a.js'), fence('sh [Deno]', '# Deno\ndeno')))
    expect(tabs.map(({ file }) => file)).toEqual([undefined, undefined])
    expect(read(fence('js', '// Express: server.js\nstart()'))[0]).not.toHaveProperty('file')
  })

  it('gives blocks outside of code groups no tab', () => {
    expect(read(fence('js app/[...path]/route.js', 'start()'))).toEqual([
      { place: 'page.md:4', page: 'page.md', language: 'js', file: 'app/[...path]/route.js', text: 'start()\n' },
    ])
  })
})

describe('blocksFor', () => {
  const page = read(
    fence('sh', 'before'),
    group(fence('sh [Express, Fastify]', 'node'), fence('sh [Bun]', 'bun')),
    group(fence('sh [Other hosts]', 'curl'), fence('sh [Bun]', 'bun ask')),
    fence('sh', 'after'),
  )

  it.each([
    ['Express', ['before', 'node', 'curl', 'after']],
    ['Fastify', ['before', 'node', 'curl', 'after']],
    ['Bun', ['before', 'bun', 'bun ask', 'after']],
  ])('selects the tabs of %s', (host, expected) => {
    expect(texts(blocksFor(page, host))).toEqual(expected)
  })

  it('throws if a code group has no tab for the host', () => {
    expect(() => blocksFor(page, 'Hono')).toThrow('page.md:10: no tab for Hono in this code group')
  })

  it('throws if a code group has two tabs for the host', () => {
    const twice = read(group(fence('sh [Bun]', 'one'), fence('sh [Bun]', 'two')))
    expect(() => blocksFor(twice, 'Bun')).toThrow('page.md:10: a second tab for Bun in this code group')
  })

  it('throws if a page with tabs is read without a host', () => {
    expect(() => blocksFor(page, undefined)).toThrow('page.md:10: the page has tabs: name a host')
    expect(texts(blocksFor(page.slice(0, 1), undefined))).toEqual(['before'])
  })
})

describe('filesBefore', () => {
  it('returns one set of files for each path through the tabs', () => {
    const page = read(
      fence('js shared.js', 'shared'),
      group(fence('js clients.js [Other hosts]', 'by port'), fence('js clients.js [In process]', 'by function')),
      group(fence('sh [Bun]', 'bun'), fence('sh [Other hosts]', 'node')),
      fence('js ask.js', 'ask'),
    )
    const ask = page.at(-1) as Block
    const paths = filesBefore(ask, page).map((files) => texts([...files.values()]))
    expect(paths).toEqual([
      ['shared', 'by port'],
      ['shared', 'by function'],
    ])
    expect(filesBefore(page[2] as Block, page).map((files) => [...files.keys()])).toEqual([['shared.js']])
  })
})

describe('docs/guide/quick-start.md', () => {
  const page = blocks.filter((block) => block.page === 'docs/guide/quick-start.md')
  const hosts = [...new Set(page.flatMap(hostsOf))].filter((host) => host !== otherHosts)

  it('has a tab for each host in every code group', () => {
    expect(hosts.sort()).toEqual([
      'Bun',
      'Cloudflare Workers',
      'Deno',
      'Express',
      'Fastify',
      'Hono',
      'In process',
      'Next.js',
      'Server',
      'node:http',
    ])
    for (const host of hosts) expect(blocksFor(page, host).length).toBeGreaterThan(10)
  })

  it('repeats the label of each tab in its first line, for readers on GitHub', () => {
    const silent = page.filter(({ tab, text }) => tab !== undefined && !/^(?:\/\/|#) /.test(text.slice(0, 3)))
    const others = page.filter(({ tab, text }) => tab !== undefined && !text.replace(/^\S+ /, '').startsWith(tab.label))
    expect([...silent, ...others].map(({ place }) => place)).toEqual([])
  })

  it('listens only on 127.0.0.1', () => {
    const servers = page.filter(({ text }) => /8787/.test(text) && /listen|serve|next dev|wrangler dev/.test(text))
    expect(servers.length).toBeGreaterThan(8)
    expect(servers.filter(({ text }) => !text.includes('127.0.0.1')).map(({ place }) => place)).toEqual([])
  })

  it('is followed for hosts that it has', () => {
    const named = followed.flatMap((one) => (one.page === 'docs/guide/quick-start.md' ? [one.host] : []))
    expect(hosts).toEqual(expect.arrayContaining(named))
    expect(named).toEqual(expect.arrayContaining(['Express', 'Fastify', 'Hono', 'Next.js', 'In process', 'Server']))
  })
})
