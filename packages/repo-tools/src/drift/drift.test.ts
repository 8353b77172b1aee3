import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { formats } from './formats.mjs'
import { namesFile, parseNames, printNames } from './names.mjs'
import { readNames } from './read-names.mjs'

const folder = mkdtempSync(join(tmpdir(), 'drift-test-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const types = `
export interface Request {
  model: 'a' | 'b' | (string & {})
  messages: Array<Text | Picture>
  effort?: 'low' | 'high' | null
  nested?: { deep?: { value?: number } }
}
interface Text { type: 'text'; text: string; cited?: boolean }
interface Picture { type: 'picture'; source: { url: string } }
export declare class Answer { id: string; content: Text[]; get text(): string; send(): void }
`

function readAll() {
  const home = join(folder, 'node_modules', 'sdk')
  mkdirSync(home, { recursive: true })
  writeFileSync(join(home, 'package.json'), JSON.stringify({ name: 'sdk', version: '1.0.0', types: 'index.d.ts' }))
  writeFileSync(join(home, 'index.d.ts'), types)
  return readNames(folder, { request: "import('sdk').Request", answer: "import('sdk').Answer", event: null })
}

it('reads names of fields, tags and enum values from the types of an SDK', () => {
  const names = readAll()
  expect(names.map(({ side, name }) => `${side} ${name}`)).toEqual([
    'request model',
    'request messages',
    'request text.type',
    'request text.type=text',
    'request text.text',
    'request text.cited',
    'request picture.type',
    'request picture.type=picture',
    'request picture.source',
    'request source.url',
    'request effort',
    'request effort=low',
    'request effort=high',
    'request nested',
    'request nested.deep',
    'request deep.value',
    'answer content',
    'answer text.type',
    'answer text.type=text',
    'answer text.text',
    'answer text.cited',
    'answer id',
  ])
})

it('provides each name with a sample value, and the same value without the name', () => {
  const cited = readAll().find(({ side, name }) => side === 'request' && name === 'text.cited')
  expect(cited).toMatchObject({
    place: 'messages[]{text}.cited',
    sample: { messages: [{ type: 'text', text: 'drift-sentinel', cited: true }] },
    bare: { messages: [{ type: 'text', text: 'drift-sentinel' }] },
  })
})

it('throws if an SDK has moved a type', () => {
  readAll()
  expect(() => readNames(folder, { request: "import('sdk').Gone" })).toThrow('was not found')
})

it.each(Object.keys(formats))('has a sorted list of names of %s with the outcome of each', (format) => {
  const text = readFileSync(namesFile(format), 'utf8')
  const names = parseNames(text)
  expect(names.size).toBeGreaterThan(100)
  for (const outcome of names.values()) expect(['kept', 'translated', 'reported', 'ignored']).toContain(outcome)
  const entries = [...names].map(([key, outcome]) => {
    const [side = '', name = ''] = key.split('\t')
    return { side, name, outcome }
  })
  expect(printNames(entries)).toBe(text)
})
