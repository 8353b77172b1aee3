import { runInThisContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { firstLines, shorten } from '../../compare/shorten.ts'
import type { ApiRequest, Json } from '../formats/format.ts'
import { formats } from '../formats/index.ts'
import type { AsCode } from './as-code.ts'
import { asJavaScript } from './as-javascript.ts'
import { snippetsOf } from './snippets.ts'

const token = 'mg-secret'
const request: ApiRequest = {
  path: '/v1/x',
  headers: { 'content-type': 'application/json' },
  body: { model: 'm', messages: [{ role: 'user', content: "it's" }] },
}
const base = 'https://gate.example/ai'
const codeOf = (call: AsCode, id: string): string => snippetsOf(call).find((one) => one.id === id)?.code ?? ''

describe.each(formats)('a call in $name as code', (format) => {
  it('names the variable for the token where one is needed', () => {
    for (const { code } of snippetsOf({ format, request, base, withToken: true })) {
      expect(code).toContain('MODELGATE_TOKEN')
      expect(code).toContain(base)
      expect(code).not.toContain(token)
    }
    expect(codeOf({ format, request, base, withToken: false }, 'curl')).not.toContain('MODELGATE_TOKEN')
  })
})

it('passes a long body to curl by standard input', () => {
  const [format] = formats
  if (format === undefined) throw new Error('no format')
  const long = { ...request, body: { text: 'é'.repeat(60_000) } }
  expect(codeOf({ format, request: long, base, withToken: true }, 'curl')).toContain("--data-binary @- <<'JSON'\n{")
})

/** Returns the value of the code when it is run. */
const evaluated = (code: string): unknown => runInThisContext(code)

describe('a value in JavaScript', () => {
  it('evaluates to the same value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(evaluated(`(${asJavaScript(value as Json)})`)).toStrictEqual(JSON.parse(JSON.stringify(value)))
      }),
    )
  })

  it('keeps a field named __proto__', () => {
    const value = JSON.parse('{"__proto__": {"a": 1}}') as Json
    expect(Object.keys(evaluated(`(${asJavaScript(value)})`) as object)).toEqual(['__proto__'])
  })

  it('is formatted as a person would write it', () => {
    expect(asJavaScript({ model: 'it"s', 'x-y': ["a'b", 1, {}, []] })).toBe(
      `{\n  model: 'it"s',\n  'x-y': [\n    'a\\'b',\n    1,\n    {},\n    [],\n  ],\n}`,
    )
  })
})

describe('the display of long values', () => {
  it.each([
    ['base64', 'QUJD'.repeat(1000), 60],
    ['a data URL', `data:image/png;base64,${'QUJD'.repeat(1000)}`, 60],
    ['prose', 'word '.repeat(4000), 4000],
  ])('shows the start of %s, and its length', (_, text, length) => {
    const shown = (shorten({ deep: [text] }) as { deep: string[] }).deep[0]
    expect(shown).toBe(`${text.slice(0, length)}… (${(text.length - length).toLocaleString('en')} characters more)`)
  })

  it('shows a short value whole', () => {
    const value = { a: ['x'.repeat(100), 1, null, true], b: { c: 'word '.repeat(100) } }
    expect(shorten(value)).toEqual(value)
  })

  it('shows the first lines of many', () => {
    expect(firstLines('a\nb\nc\nd', 2)).toEqual({ text: 'a\nb\n', cut: 2 })
    expect(firstLines('a\nb', 2)).toEqual({ text: 'a\nb', cut: 0 })
  })
})
