import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { providerCatalog } from '@modelgate/core/catalog'
import { clientCodecs, codecs, defaultLimits } from '@modelgate/core/test-support'
import { describe, expect, it } from 'vitest'
import { root } from '../base/workspace.mjs'
import { anchorsOf } from './anchors.ts'
import { tableIn } from './generated-table.ts'
import { documents, read } from './pages.mjs'
import { clientTable } from './tables/clients.ts'
import { environmentTable } from './tables/environment.ts'
import { kindTable, statusTable } from './tables/errors.ts'
import { familyTable } from './tables/families.ts'
import { answerPairs, answerTables, requestPairs, requestTables } from './tables/formats.ts'
import { referenceTable } from './tables/references.ts'
import { catalogTable, lacksTable, quirkTable, valuesTable } from './tables/upstreams.ts'

/** Returns the links within the repository: page, target file relative to the root (none: the page itself) and heading. */
const links = documents.flatMap((page) =>
  [
    ...read(page)
      .replaceAll(/^```.*?^```/gms, '')
      .matchAll(/\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)/g),
  ].map(([link, path = '', anchor]) => ({
    page,
    link,
    file: path === '' ? page : join(page, '..', decodeURIComponent(path)),
    anchor,
  })),
)

describe('the documentation', () => {
  it('links to existing files', () => {
    const broken = links.filter(({ file }) => !existsSync(join(root, file)))
    expect(broken.map(({ page, link }) => `${page}: ${link}`)).toEqual([])
  })

  it('links to existing headings', () => {
    const broken = links.filter(({ file, anchor }) => {
      if (anchor === undefined || !file.endsWith('.md') || !existsSync(join(root, file))) return false
      return !anchorsOf(read(file)).includes(anchor)
    })
    expect(broken.map(({ page, link }) => `${page}: ${link}`)).toEqual([])
  })

  it('states the limits and defaults of the code', () => {
    const rows = [...read('docs/operate/limits.md').matchAll(/^\| `(\w+)` \| (\d+) \|/gm)].map(([, name, value]) => [
      name,
      Number(value),
    ])
    expect(Object.fromEntries(rows)).toEqual(defaultLimits)
  })
})

describe('docs/guide/clients.md', () => {
  it('counts the cases of each official client', () => {
    const fromCode = clientTable()
    expect(tableIn('docs/guide/clients.md', 'clients', fromCode)).toBe(fromCode)
  })
})

describe('docs/reference/cli.md', () => {
  it('lists the providers of the environment', () => {
    const fromCode = environmentTable()
    expect(tableIn('docs/reference/cli.md', 'environment', fromCode)).toBe(fromCode)
  })
})

describe('docs/reference/endpoints.md', () => {
  it('lists the paths of other vendors’ clients', () => {
    const fromCode = familyTable()
    expect(tableIn('docs/reference/endpoints.md', 'families', fromCode)).toBe(fromCode)
  })
})

describe('docs/reference/errors.md', () => {
  it('lists the response for each error kind', () => {
    const fromCode = kindTable()
    expect(tableIn('docs/reference/errors.md', 'kinds', fromCode)).toBe(fromCode)
  })

  it('lists the error kind of each upstream status and the next attempt', async () => {
    const fromCode = await statusTable()
    expect(tableIn('docs/reference/errors.md', 'statuses', fromCode)).toBe(fromCode)
  })
})

describe('docs/guide/references.md', () => {
  it('lists every reference that the code checks', () => {
    const fromCode = referenceTable()
    expect(tableIn('docs/guide/references.md', 'references', fromCode)).toBe(fromCode)
  })
})

describe('docs/reference/formats.md', () => {
  it.each([
    ['request-pairs', requestPairs],
    ['answer-pairs', answerPairs],
    ['requests', requestTables],
    ['answers', answerTables],
  ])('contains the %s that the codecs declare', (name, fromCodecs) => {
    const fromCode = fromCodecs(codecs, clientCodecs)
    expect(tableIn('docs/reference/formats.md', name, fromCode)).toBe(fromCode)
  })
})

describe('docs/reference/upstreams.md', () => {
  it.each([
    ['catalog', catalogTable],
    ['quirks', quirkTable],
    ['lacks', lacksTable],
    ['values', valuesTable],
  ])('contains the %s of the upstreams that the factories return', (name, fromFactories) => {
    const fromCode = fromFactories()
    expect(tableIn('docs/reference/upstreams.md', name, fromCode)).toBe(fromCode)
  })

  it('covers a catalog with exactly the factories that core exports', () => {
    const exported = [...read('packages/core/src/index.ts').matchAll(/^export \{([^}]*)\} from '\.\/upstreams\/.*'$/gm)]
    const factories = exported.flatMap(([, names = '']) => names.split(',').map((name) => name.trim()))
    expect(factories.filter((name) => name !== '' && !name.startsWith('type ')).sort()).toEqual(
      Object.keys(providerCatalog).sort(),
    )
  })
})
