import type { Upstream } from '@modelgate/core'
import { messageOf } from '../errors.ts'
import { didYouMean } from '../near.ts'
import { isRecord } from './is-record.ts'
import { commonOptions, type Maker, makers, type OptionKind } from './makers.ts'

/**
 * Makes the upstreams that a JSON file describes: `{ "claude": { "provider": "anthropic", "apiKey": "…" } }`. Throws an Error
 * that names the place and what to write there.
 */
export function dataUpstreams(upstreams: unknown): Record<string, Upstream> {
  if (!isRecord(upstreams)) throw new Error(`upstreams is ${kindOf(upstreams)}: write an object of upstreams by name`)
  return Object.fromEntries(
    Object.entries(upstreams).map(([name, data]) => [name, dataUpstream(data, `upstreams.${name}`)]),
  )
}

function dataUpstream(data: unknown, where: string): Upstream {
  if (!isRecord(data)) throw new Error(`${where} is ${kindOf(data)}: write { "provider": "openai", "apiKey": "…" }`)
  const { provider, quirks, ...options } = data
  const names = Object.keys(makers)
  if (provider === undefined) throw new Error(`${where} has no provider: write one of ${names.join(', ')}`)
  const maker = typeof provider === 'string' && Object.hasOwn(makers, provider) ? makers[provider] : undefined
  if (maker === undefined)
    throw new Error(`${where}.provider is ${shown(provider)}${didYouMean(String(provider), names)}`)
  checkOptions(maker, String(provider), options, where)
  if (quirks !== undefined) checkKind('object', quirks, `${where}.quirks`)
  const made = make(maker, options, where)
  return isRecord(quirks) ? { ...made, quirks: { ...made.quirks, ...quirks } } : made
}

/** What a maker itself does not like, under the place it is about. */
function make({ make }: Maker, options: Record<string, unknown>, where: string): Upstream {
  try {
    return make(options as never)
  } catch (error) {
    throw new Error(`${where}: ${messageOf(error)}`, { cause: error })
  }
}

function checkOptions(maker: Maker, provider: string, options: Record<string, unknown>, where: string): void {
  const known: Readonly<Record<string, OptionKind>> = { ...commonOptions, ...maker.options }
  for (const [name, value] of Object.entries(options)) {
    const kind = Object.hasOwn(known, name) ? known[name] : undefined
    if (kind === undefined)
      throw new Error(
        `${where}.${name} is nothing that '${provider}' takes${didYouMean(name, ['provider', ...Object.keys(known)])}`,
      )
    checkKind(kind, value, `${where}.${name}`)
  }
  for (const name of maker.needs ?? [])
    if (options[name] === undefined) throw new Error(`${where} has no ${name}: '${provider}' needs one`)
}

function checkKind(kind: OptionKind, value: unknown, where: string): void {
  const wish = wishOf(kind, value)
  if (wish !== undefined) throw new Error(`${where} is ${kindOf(value)}: write ${wish}`)
  if (kind === 'keys' && (value === '' || (Array.isArray(value) && value.includes(''))))
    throw new Error(`${where} is empty: is the variable set that it comes from?`)
}

/** What to write in its place; undefined if it is right as it is. */
function wishOf(kind: OptionKind, value: unknown): string | undefined {
  const isText = (one: unknown): one is string => typeof one === 'string'
  if (kind === 'text') return isText(value) ? undefined : 'a text in quotes'
  if (kind === 'texts') return Array.isArray(value) && value.every(isText) ? undefined : 'a list of texts'
  if (kind === 'flag') return typeof value === 'boolean' ? undefined : 'true or false'
  if (kind === 'object') return isRecord(value) ? undefined : 'an object'
  if (kind === 'objects') return Array.isArray(value) && value.every(isRecord) ? undefined : 'a list of objects'
  if (kind === 'keys')
    return isText(value) || (Array.isArray(value) && value.every((one) => isText(one) || isRecord(one)))
      ? undefined
      : 'the key in quotes, or a list of keys'
  if ('someOf' in kind)
    return Array.isArray(value) && value.every((one) => kind.someOf.includes(one))
      ? undefined
      : `a list of some of ${kind.someOf.map((word) => `"${word}"`).join(', ')}`
  return isText(value) && kind.includes(value) ? undefined : `one of ${kind.map((word) => `"${word}"`).join(', ')}`
}

const shown = (value: unknown): string => (typeof value === 'string' ? `'${value}'` : kindOf(value))

/** What a value is, in words. */
export const kindOf = (value: unknown): string =>
  value === null
    ? 'null'
    : Array.isArray(value)
      ? 'a list'
      : typeof value === 'object'
        ? 'an object'
        : `a ${typeof value}`
