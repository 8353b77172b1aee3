import type { Loss } from '@modelgate/core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json } from './json.ts'
import { type JsonLine, jsonLines, originsIn } from './json-lines.ts'
import { markLosses, shownLines } from './marks.ts'

const body: Json = {
  model: 'm',
  seed: 7,
  messages: [
    { role: 'user', content: 'Hello there' },
    { role: 'user', content: '' },
  ],
  'a/b~c': [],
}
const lines = jsonLines(body)
const written = ({ depth, name, text }: JsonLine): string => `${'  '.repeat(depth)}${name}${text}`
const loss = (path: string, severity: Loss['severity'] = 'warn'): Loss => ({
  path,
  severity,
  kind: 'unsupported',
  detail: `no ${path}`,
})

describe('the lines of a request', () => {
  it('equal those of JSON.stringify for any value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(
          jsonLines(value as Json)
            .map(written)
            .join('\n'),
        ).toBe(JSON.stringify(value, null, 2))
      }),
    )
  })

  it('have the JSON Pointer of their value', () => {
    const at = (pointer: string) => lines.filter((line) => line.pointer === pointer).map(written)
    expect(at('/seed')).toEqual(['  "seed": 7,'])
    expect(at('/messages/1')).toEqual(['    {', '    }'])
    expect(at('/a~1b~0c')).toEqual(['  "a/b~c": []'])
  })
})

describe('losses', () => {
  const marked = (losses: readonly Loss[]) =>
    [...markLosses(lines, losses).marks].map(([index, { severity }]) => [
      written(lines[index] as JsonLine).trim(),
      severity,
    ])

  it.each([
    ['one value', [loss('/seed')], [['"seed": 7,', 'warn']]],
    [
      'something with more in it, whole',
      [loss('/messages/1', 'fatal')],
      [
        ['{', 'fatal'],
        ['"role": "user",', 'fatal'],
        ['"content": ""', 'fatal'],
        ['}', 'fatal'],
      ],
    ],
    ['what was not written, where it would stand', [loss('/max_tokens', 'note')], [['{', 'note']]],
    ['names with slashes', [loss('/a~1b~0c')], [['"a/b~c": []', 'warn']]],
    ['the worst, where there are several', [loss('/seed', 'note'), loss('/seed', 'fatal')], [['"seed": 7,', 'fatal']]],
  ])('mark %s', (_, losses, wanted) => {
    expect(marked(losses)).toEqual(wanted)
  })

  it('are reported once, at the first line of their field', () => {
    const { marks } = markLosses(lines, [loss('/messages/1'), loss('/messages/1/content', 'note')])
    const marked = [...marks].flatMap(([index, { losses }]) => losses.map(({ path }) => [lines[index]?.pointer, path]))
    expect(marked).toEqual([
      ['/messages/1', '/messages/1'],
      ['/messages/1/content', '/messages/1/content'],
    ])
  })

  it('are shown in a request that is too long to show whole', () => {
    const long = jsonLines({ list: Array.from({ length: 50_000 }, (_, index) => index) })
    const { marks } = markLosses(long, [loss('/list/40000')])
    const shown = shownLines(long, marks, 100)
    expect(shown.filter((one) => 'line' in one)).toHaveLength(105)
    expect(shown.some((one) => 'line' in one && one.line.pointer === '/list/40000')).toBe(true)
    const skipped = shown.reduce((sum, one) => sum + ('skipped' in one ? one.skipped : 0), 0)
    expect(skipped + 105).toBe(long.length)
  })
})

describe('the lines sent upstream', () => {
  it('are classified as unchanged, moved or added', () => {
    const sent = jsonLines({ model: 'other', seed: 7, max_tokens: 4096, system: 'Hello there', role: 'user' })
    const originOf = originsIn(lines)
    expect(sent.map((line) => [line.pointer, originOf(line)])).toEqual([
      ['', undefined],
      ['/model', 'new'],
      ['/seed', 'same'],
      ['/max_tokens', 'new'],
      ['/system', 'elsewhere'],
      ['/role', 'elsewhere'],
      ['', undefined],
    ])
  })
})
