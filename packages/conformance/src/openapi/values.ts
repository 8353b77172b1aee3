import type { Json, JsonObject } from '../base/json.ts'
import type { Shape } from './schema.ts'

/** A value to send, and how to recognise it on the other side. */
export interface Candidate {
  readonly value: Json
  /**
   * `token`: contains a unique text. `word`: one of few values, which others may represent. `presence`: can only be
   * present or absent.
   */
  readonly kind: 'token' | 'word' | 'presence'
  readonly token: string
  /** True for the documented default, which means the same as an absent field. */
  readonly standard?: boolean
}

/** Values for fields with a matching path. */
export interface ValueRule {
  readonly at: RegExp
  /** Returns the values to try, given a unique text. */
  readonly give: (token: string) => readonly Json[]
  /** The value is not broken down further, whatever its schema. */
  readonly whole?: boolean
}

/** A placeholder for required text; also valid base64, a valid name and a valid id. */
export const filler = 'Filler000000'

const includes = (value: Json, token: string): boolean =>
  JSON.stringify(value).toLowerCase().includes(token.toLowerCase())

/** Returns the values of the first matching rule; undefined if none matches. */
export function hinted(
  rules: readonly ValueRule[],
  path: string,
  fresh: () => string,
): readonly Candidate[] | undefined {
  const rule = rules.find(({ at }) => at.test(path))
  if (rule === undefined) return undefined
  return rule.give(filler).map((_, index): Candidate => {
    const token = fresh()
    const value = rule.give(token)[index] ?? null
    return { value, kind: includes(value, token) ? 'token' : 'word', token }
  })
}

/** Returns the values to try without a rule: all enumerated ones, else one of the type. */
export function valuesOf(shape: Shape, key: string, fresh: () => string): readonly Candidate[] {
  const token = (value: (token: string) => Json): Candidate => {
    const text = fresh()
    const written = value(text)
    return { value: written, kind: includes(written, text) ? 'token' : 'word', token: text }
  }
  const { words, standard } = shape
  const word = (value: Json): Candidate => ({ value, kind: 'word', token: '', standard: value === standard })
  if (words?.length === 1 && words[0] !== undefined) return [{ value: words[0], kind: 'presence', token: '' }]
  if (words !== undefined) return words.map(word)
  switch (shape.type) {
    case 'string':
      return textsOf(shape, key).map((write) => token(write))
    case 'boolean':
      return [word(true), word(false)]
    case 'integer':
    case 'number':
      return [word(numberIn(shape))]
    case 'array':
      return [{ value: [], kind: 'presence', token: '' }]
    case 'object':
      return isClosed(shape) ? [{ value: {}, kind: 'presence', token: '' }] : [token((text) => ({ [text]: 'x' }))]
    case 'any':
      return [token((text) => text)]
  }
}

const isClosed = ({ names, values, type }: Shape): boolean =>
  type === 'object' && values === undefined && names.length > 0

const texts: readonly [RegExp, readonly ((token: string) => string)[]][] = [
  [/^(image_url|url)$/, [(token) => `https://files.example/${token}.png`]],
  [/(uri|url|Uri|Url)$/, [(token) => `https://files.example/${token}`]],
  [/^arguments$/, [(token) => `{"probe":"${token}"}`]],
]

/** Returns ways to write a unique text as a value of the field. */
function textsOf({ pattern, format }: Shape, key: string): readonly ((token: string) => string)[] {
  if (pattern !== undefined) {
    const fits = new RegExp(pattern)
    const write = patterned.find((one) => fits.test(one(filler)))
    if (write === undefined) throw new Error(`No value matches the pattern ${pattern} of ${key}`)
    return [write]
  }
  if (format === 'int64') return [(token) => String(Number(token.slice(5)) || 7)]
  if (/duration/.test(format)) return [(token) => `${Number(token.slice(5)) || 7}s`]
  if (/date/.test(format)) return [() => '2031-02-03T04:05:06Z']
  if (format === 'uri') return [(token) => `https://files.example/${token}`]
  return texts.find(([name]) => name.test(key))?.[1] ?? [(token) => token]
}

const patterned: readonly ((token: string) => string)[] = [
  (token) => token,
  (token) => `srvtoolu_${token}`,
  (token) => `tunnel_${token.toLowerCase().padStart(32, '0')}`,
]

/** Returns a number that is not the default and unique in the body. */
function numberIn({ type, minimum, maximum }: Shape): number {
  const least = minimum ?? 0
  if (type === 'number') return maximum === undefined ? least + 0.3725 : least + (maximum - least) * 0.3725
  return maximum === undefined ? Math.max(least, 4217) : Math.min(maximum, least + 7)
}

/** A user-defined schema with the text as a property. */
export const schemaWith = (token: string): JsonObject => ({
  type: 'object',
  properties: { [token]: { type: 'string' } },
  required: [token],
  additionalProperties: false,
})
