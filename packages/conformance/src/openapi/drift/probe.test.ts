import { readFileSync, writeFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import type { Json } from '../../base/json.ts'
import { type Format, formats } from '../../base/recorded-traffic.ts'
import { type DriftName, type Probed, probe } from './probe.ts'

// `npm run drift` passes the names of the newest SDKs and reads the outcomes.
const { DRIFT_NAMES: namesFile, DRIFT_OUTCOMES: reported } = process.env

const lines = (file: URL): string[][] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split('\t'))

/** Names that were new in the SDKs of November 2026. */
const samples: readonly DriftName[] = lines(new URL('sample-names.tsv', import.meta.url)).map(
  ([format, side, name = '', place = '', sample = '', bare = '']) => ({
    format: format as Format,
    side: side as DriftName['side'],
    name,
    place,
    sample: JSON.parse(sample) as Json,
    bare: JSON.parse(bare) as Json,
  }),
)
const names = namesFile === undefined ? samples : (JSON.parse(readFileSync(namesFile, 'utf8')) as DriftName[])

const listed = new Map<string, string | undefined>(
  formats.flatMap((format) =>
    lines(new URL(`../../../../repo-tools/src/drift/names/${format}.tsv`, import.meta.url)).map(
      ([side, name, outcome]) => [`${format} ${side} ${name}`, outcome] as const,
    ),
  ),
)
const rising = ['ignored', 'reported', 'translated', 'kept']

it('passes new SDK names in their own format without an exception in any pair', { timeout: 600_000 }, async () => {
  const probed: Probed[] = []
  for (const name of names) probed.push(await probe(name))
  if (reported !== undefined)
    writeFileSync(reported, JSON.stringify(probed.map(({ sample: _, bare: _b, ...rest }) => rest)))
  const problems = probed.flatMap(({ format, side, name, problems }) =>
    problems.map((problem) => `${format} ${side} ${name}: ${problem}`),
  )
  expect(problems).toEqual([])
})

it.skipIf(namesFile !== undefined)(
  'keeps, translates or reports new SDK names at least as well as the list of names documents',
  async () => {
    const worse: string[] = []
    for (const sample of samples) {
      const key = `${sample.format} ${sample.side} ${sample.name}`
      const { outcome } = await probe(sample)
      const wanted = listed.get(key) ?? 'a name of the list'
      if (rising.indexOf(outcome) < rising.indexOf(wanted)) worse.push(`${key}: ${outcome}, listed as ${wanted}`)
    }
    expect(worse).toEqual([])
  },
)
