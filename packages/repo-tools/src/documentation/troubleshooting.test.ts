import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { GatewayError } from '@modelgate/core'
import { clientCodecs, errorKinds, errorReply } from '@modelgate/core/test-support'
import { describe, expect, it } from 'vitest'
import { root } from '../base/workspace.mjs'
import { read } from './pages.mjs'

const page = 'docs/operate/troubleshooting.md'
const codesIn = (text: string): string[] => [...text.matchAll(/`(\w+)`/g)].map(([, code = '']) => code)

/** The rows of the tables of error codes. A code in brackets is the one that chat clients receive for the kind before it. */
const rows = [...read(page).matchAll(/^\| (`\w+`[^|]*) \| (\d{3}[^|]*) \|/gm)].map(([, names = '', status = '']) => {
  const [, kind = '', , chatCode] = /^`(\w+)`( \(`(\w+)`\))?$/.exec(names) ?? []
  const statuses = [...status.matchAll(/\d{3}/g)].map(([number]) => Number(number))
  return { kind, chatCode, codes: codesIn(names), statuses }
})

/** Returns the responses of each format to an error kind. */
const replies = (kind: keyof typeof errorKinds) =>
  clientCodecs.map((codec) => {
    const { status, body } = errorReply(new GatewayError(kind, ''), codec, '')
    return { format: codec.format, status, code: JSON.parse(String(body)).error?.code }
  })

const sources = ['cli', 'core', 'node', 'tokens'].flatMap((name) =>
  readdirSync(join(root, `packages/${name}/src`), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !/\btest\b/.test(file))
    .map((file) => read(`packages/${name}/src/${file}`)),
)

describe(page, () => {
  it.each(Object.keys(errorKinds) as (keyof typeof errorKinds)[])(
    'explains the error kind %s with its statuses',
    (kind) => {
      const [row, ...others] = rows.filter((one) => one.kind === kind)
      expect(others).toEqual([])
      const fromCode = replies(kind)
      expect(new Set(row?.statuses)).toEqual(new Set(fromCode.map(({ status }) => status)))
      const chatCode: unknown = fromCode.find(({ format }) => format === 'chat')?.code
      expect(row?.chatCode ?? kind).toBe(typeof chatCode === 'string' ? chatCode : kind)
    },
  )

  it.each(['docs/reference/errors.md', 'docs/guide/tokens.md'])('explains each code that %s mentions', (other) => {
    const mentioned = [...read(other).matchAll(/code `(\w+)`/g)].map(([, code = '']) => code)
    const explained = rows.flatMap(({ codes }) => codes)
    expect(mentioned.length).toBeGreaterThan(3)
    expect(mentioned.filter((code) => !explained.includes(code))).toEqual([])
  })

  it('quotes messages of the code', () => {
    const quotes = [...read(page).matchAll(/"([A-Z][^"]*)"/g)].map(([, quote = '']) => quote.replace(/\b8787\b/, '…'))
    expect(quotes.length).toBeGreaterThan(3)
    const pieces = quotes.flatMap((quote) => quote.split('…').map((piece) => piece.trim()))
    expect(pieces.filter((piece) => !sources.some((text) => text.includes(piece)))).toEqual([])
  })

  it('contains only codes that the gateway sends', () => {
    const known = (code: string): boolean =>
      Object.hasOwn(errorKinds, code) || sources.some((text) => text.includes(`'${code}'`))
    expect(rows.flatMap(({ codes }) => codes).filter((code) => !known(code))).toEqual([])
  })
})
