import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { root } from '../base/workspace.mjs'
import { findBrokenLinks } from './links.mjs'
import { resolvePageLink } from './page-links.ts'

const folder = mkdtempSync(join(tmpdir(), 'modelgate-site-links-'))
afterAll(() => rmSync(folder, { recursive: true }))

describe('findBrokenLinks', () => {
  mkdirSync(join(folder, 'guide'))
  writeFileSync(
    join(folder, 'index.html'),
    '<h1 id="top"><a href="/guide/">a</a><a class="b" href="/guide/none.html">b</a><img src="/none.png"><a href="https://example.com/x">c</a>',
  )
  writeFileSync(
    join(folder, 'guide/index.html'),
    '<h2 id="a-b"></h2><a href="#a-b">1</a><a href="#c">2</a><a href="../index.html#top">3</a><a href="/index.html#none">4</a>',
  )

  it('lists links to missing pages, images and anchors', () => {
    expect(findBrokenLinks(folder).sort()).toEqual([
      'guide/index.html: #c',
      'guide/index.html: /index.html#none',
      'index.html: /guide/none.html',
      'index.html: /none.png',
    ])
  })

  it('lists links outside of the base path', () => {
    expect(findBrokenLinks(folder, '/docs/')).toContain('index.html: /guide/')
  })
})

describe('resolvePageLink', () => {
  const page = join(root, 'docs/guide/tokens.md')
  const repository = 'https://example.com/owner/name'

  it.each([
    ['routing.md#retries', '/guide/routing.md#retries'],
    ['../reference/api/README.md', '/reference/api/index.md'],
    ['../reference/api', '/reference/api/'],
    ['../README.md', '/index.md'],
    ['#budgets', '#budgets'],
    ['https://example.com/', 'https://example.com/'],
    ['../../packages/core/README.md', '/reference/api/core.md'],
    ['../../packages/core', '/reference/api/core.md'],
    ['../../packages/bench', undefined],
    ['../../CHANGELOG.md', undefined],
  ])('without a repository, %s becomes %s', (link, expected) => {
    expect(resolvePageLink(link, page, undefined)).toBe(expected)
  })

  it.each([
    ['../../CHANGELOG.md#unreleased', `${repository}/blob/main/CHANGELOG.md#unreleased`],
    ['../../examples/hono', `${repository}/tree/main/examples/hono`],
    ['../../packages/core', '/reference/api/core.md'],
    ['../../packages/bench/README.md', `${repository}/blob/main/packages/bench/README.md`],
    ['routing.md', '/guide/routing.md'],
  ])('with a repository, %s becomes %s', (link, expected) => {
    expect(resolvePageLink(link, page, repository)).toBe(expected)
  })
})
