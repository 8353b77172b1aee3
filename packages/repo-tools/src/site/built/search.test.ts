import { readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'
import { searchOptions } from '../search.ts'
import { site } from './site.test-support.ts'

interface Found {
  /** Path of the page with the anchor of the heading. */
  readonly id: string
  readonly title: string
  /** Headings above, from the page's title on. */
  readonly titles: readonly string[]
}

interface Index {
  search(words: string): Found[]
}

interface MiniSearchModule {
  loadJSON(json: string, options: object): Index
}

/** Loads the index of the built site as the search box does. */
async function loadIndex({ folder, packages }: NonNullable<typeof site>): Promise<Index> {
  const chunks = join(folder, 'assets/chunks')
  const [file = ''] = readdirSync(chunks).filter((name) => name.startsWith('@localSearchIndex'))
  const { default: json }: { default: string } = await import(/* @vite-ignore */ pathToFileURL(join(chunks, file)).href)
  const MiniSearch: MiniSearchModule = createRequire(join(packages, 'index.js'))('minisearch')
  return MiniSearch.loadJSON(json, {
    fields: ['title', 'titles', 'text'],
    storeFields: ['title', 'titles'],
    searchOptions,
  })
}

describe.skipIf(site === undefined)('the search of the documentation site', () => {
  let index: Index
  beforeAll(async () => {
    if (site !== undefined) index = await loadIndex(site)
  })

  it.each([
    ['timeout', '/operate/limits', /timeout/i],
    ['shutdown', '/operate/deploying', /shutdown/i],
    ['CORS', '/reference/endpoints', /CORS/],
    ['rate limit', '/guide/tokens', /rate limits/i],
    ['budget', '/guide/tokens', /budget/i],
    ['fallback', '/guide/retries', /fallback/i],
    ['Claude Code', '/recipes/claude-code-and-codex', /Claude Code/],
    ['Azure', '/reference/upstreams', /Azure/],
    ['proxy', '/operate/deploying', /proxy/i],
    ['Prometheus', '/operate/observability', /Prometheus/],
    ['Kubernetes', '/operate/deploying', /Kubernetes/],
    ['log', '/operate/observability', /\blogs?\b/i],
  ])('has the right page first for %j, by its title or heading', (words, page, heading) => {
    const [first] = index.search(words)
    expect(first?.id.replace(/\.html(?:#.*)?$/, '')).toBe(page)
    expect([...(first?.titles ?? []), first?.title].join(' / ')).toMatch(heading)
  })
})
