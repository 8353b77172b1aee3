import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { providerCatalog } from '@modelgate/core/catalog'
import { describe, expect, it } from 'vitest'
import { readJson, root } from '../base/workspace.mjs'
import { documents, read } from './pages.mjs'

/** A number of calls per second, a comparison of speed, or a cost in microseconds. */
const speed =
  /\d[\d,.]*\s+(?:\w+\s+)?(?:calls|requests)\s+(?:a|per)\s+second|\btimes\s+(?:as fast|faster)|microsecond|µs/i

/** Pages that explain measurements or their history. */
const isAboutMeasurements = (page: string): boolean =>
  page.startsWith('docs/internals/') || page.startsWith('docs/decisions/') || page === 'docs/scaling.md'

const marked = /<!-- performance -->(.*?)<!-- \/performance -->/gs

const recordedCells = (work: string): readonly string[] =>
  read('docs/internals/performance.md')
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .find(([, name]) => name === work) ?? []

/** Returns the columns of a row of the last recorded benchmark. */
function benchmarkRow(work: string): { readonly own: string; readonly ratio: string; readonly compares: string } {
  const [, , own = '', , ratio = ''] = recordedCells(work)
  expect([own, ratio], `the row '${work}'`).toEqual([
    expect.stringMatching(/^[\d,]+ \/s(?:, CPU [\d,]+ µs)?$/),
    expect.stringMatching(/^\d\.\d\d ×$/),
  ])
  // Runs before December 2026 compared rates.
  const compares = own.includes('CPU') ? 'the CPU efficiency' : 'the rate'
  return { own: own.replace(/ \/s.*$/, ''), ratio, compares }
}

/** Returns the only performance claim of README and documentation. */
function performanceClaim(): string {
  const json = benchmarkRow('JSON pass-through, 1 kB')
  const streams = 'stream pass-through, 203 events'
  // A row that varied too much has no figures.
  const isPublished = recordedCells(streams)[2] !== 'not published'
  const ofStreams = isPublished ? ` (for streams: ${benchmarkRow(streams).ratio})` : ''
  return `On one CPU core, Modelgate forwards ${json.own} JSON calls per second. This is ${json.ratio} ${json.compares} of a bare proxy${ofStreams}.`
}

const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim()

describe('the performance claim', () => {
  const claims = documents.flatMap((page) =>
    [...read(page).matchAll(marked)].map(([, text = '']) => ({ page, text: oneLine(text) })),
  )

  it('equals the last recorded benchmark on each page that makes it', () => {
    const claim = performanceClaim()
    if (process.env.UPDATE_DOCS !== undefined)
      for (const page of new Set(claims.map(({ page }) => page)))
        writeFileSync(
          join(root, page),
          read(page).replaceAll(marked, `<!-- performance -->${claim}<!-- /performance -->`),
        )
    else expect(claims.filter(({ text }) => text !== claim)).toEqual([])
    expect(claims.map(({ page }) => page)).toContain('README.md')
  })

  it('is the only one outside of the pages about measurements', () => {
    const others = documents.filter(
      (page) => !isAboutMeasurements(page) && speed.test(read(page).replaceAll(marked, '')),
    )
    expect(others).toEqual([])
    for (const claim of ['makes 13,000 JSON calls a second', 'is several times faster', 'costs 3 µs'])
      expect(claim).toMatch(speed)
  })
})

describe('README.md', () => {
  const text = read('README.md')

  it('has at most 900 words, code included', () => {
    expect(text.split(/\s+/).filter((word) => word !== '').length).toBeLessThanOrEqual(900)
  })

  it('lists the runtime dependencies of core and of the Node adapter', () => {
    const [core, node] = ['core', 'node'].map((name) => readJson(`packages/${name}/package.json`).dependencies)
    const names = Object.keys({ ...core, ...node }).filter((name) => !name.startsWith('@modelgate/'))
    expect(Object.keys(core)).toHaveLength(1)
    expect(names.filter((name) => !text.includes(`\`${name}\``))).toEqual([])
  })

  it('states the number of providers in the catalog', () => {
    const namedProviders = Object.keys(providerCatalog).filter((name) => name !== 'openaiCompatible').length
    expect(text).toContain(`| providers | ${namedProviders}, and compatible servers |`)
  })

  it('lists each published package', () => {
    const published = readdirSync(join(root, 'packages'))
      .map((name) => readJson(`packages/${name}/package.json`))
      .filter((manifest) => manifest.private !== true)
      .map(({ name }) => name.replace('@modelgate/', ''))
    expect(
      published.filter((name) => !text.includes(`\`${name}\``) && !text.includes(`\`@modelgate/${name}\``)),
    ).toEqual([])
    expect(published.length).toBeGreaterThan(5)
  })
})
