import { openaiCompatible, type Upstream } from '@modelgate/core'
import { type ProviderEntry, providerCatalog } from '@modelgate/core/catalog'
import { didYouMean } from '../terminal/did-you-mean.ts'
import { isRecord } from './expand.ts'
import { type ReportProblem, throwProblem } from './problem-list.ts'
import { type OptionType, optionTypes } from './provider-options.ts'

/**
 * Creates the upstreams of a JSON configuration: `{ "claude": { "provider": "anthropic", "apiKey": "…" } }`.
 *
 * @param report receives each problem: the setting and its expected value
 */
export function dataUpstreams(upstreams: unknown, report: ReportProblem = throwProblem): Record<string, Upstream> {
  if (!isRecord(upstreams)) {
    report(`upstreams is ${kindOf(upstreams)}: expected an object of upstreams by name`)
    return {}
  }
  return Object.fromEntries(
    Object.entries(upstreams).map(([name, data]) => [name, dataUpstream(data, `upstreams.${name}`, report)]),
  )
}

/** Replaces an invalid upstream, so that models which name it are not reported too. */
const placeholder = openaiCompatible({ baseURL: 'http://localhost' })

function dataUpstream(data: unknown, where: string, report: ReportProblem): Upstream {
  const failed = (message: string): Upstream => {
    report(message)
    return placeholder
  }
  if (!isRecord(data)) return failed(`${where} is ${kindOf(data)}: expected { "provider": "openai", "apiKey": "…" }`)
  const { provider, quirks, ...options } = data
  const entries: Readonly<Record<string, ProviderEntry>> = providerCatalog
  const names = Object.keys(entries)
  if (provider === undefined) return failed(`${where}.provider is missing. Valid: ${names.join(', ')}.`)
  const entry = typeof provider === 'string' && Object.hasOwn(entries, provider) ? entries[provider] : undefined
  if (entry === undefined)
    return failed(
      `${where}.provider is ${displayValue(provider)}, which is not a provider. ${didYouMean(String(provider), names)}`,
    )
  const problems = checkOptions(entry, String(provider), options, where)
  if (quirks !== undefined) problems.push(...checkKind('object', quirks, `${where}.quirks`))
  for (const problem of problems) report(problem)
  if (problems.length > 0) return placeholder
  const upstream = entry.create(options as never)
  for (const problem of upstream.problems ?? []) report(`${where}.${problem}`)
  if (upstream.problems !== undefined) return placeholder
  return isRecord(quirks) ? { ...upstream, quirks: { ...upstream.quirks, ...quirks } } : upstream
}

function checkOptions(
  entry: ProviderEntry,
  provider: string,
  options: Record<string, unknown>,
  where: string,
): string[] {
  const known = optionTypes(entry)
  const wrong = Object.entries(options).flatMap(([name, value]) => {
    const kind = Object.hasOwn(known, name) ? known[name] : undefined
    return kind === undefined
      ? [`'${provider}' has no option ${where}.${name}. ${didYouMean(name, ['provider', ...Object.keys(known)])}`]
      : checkKind(kind, value, `${where}.${name}`)
  })
  const missing = (entry.required ?? []).filter((name) => options[name] === undefined)
  return [...wrong, ...missing.map((name) => `${where}.${name} is missing: '${provider}' requires it`)]
}

function checkKind(kind: OptionType, value: unknown, where: string): string[] {
  const expected = expectedValue(kind, value)
  return expected === undefined ? [] : [`${where} is ${kindOf(value)}: expected ${expected}`]
}

/** Returns a description of the expected value; undefined if the value is valid. */
function expectedValue(kind: OptionType, value: unknown): string | undefined {
  const isText = (one: unknown): one is string => typeof one === 'string'
  if (kind === 'text') return isText(value) ? undefined : 'a string'
  if (kind === 'texts') return Array.isArray(value) && value.every(isText) ? undefined : 'a list of strings'
  if (kind === 'flag') return typeof value === 'boolean' ? undefined : 'true or false'
  if (kind === 'object') return isRecord(value) ? undefined : 'an object'
  if (kind === 'objects') return Array.isArray(value) && value.every(isRecord) ? undefined : 'a list of objects'
  if (kind === 'keys')
    return isText(value) || (Array.isArray(value) && value.every((one) => isText(one) || isRecord(one)))
      ? undefined
      : 'a key or a list of keys'
  if ('someOf' in kind)
    return Array.isArray(value) && value.every((one) => kind.someOf.includes(one))
      ? undefined
      : `a list of some of ${kind.someOf.map((word) => `"${word}"`).join(', ')}`
  return isText(value) && kind.includes(value) ? undefined : `one of ${kind.map((word) => `"${word}"`).join(', ')}`
}

const displayValue = (value: unknown): string => (typeof value === 'string' ? `'${value}'` : kindOf(value))

/** Describes the type of a value: `a list`. */
export const kindOf = (value: unknown): string =>
  value === null
    ? 'null'
    : Array.isArray(value)
      ? 'a list'
      : typeof value === 'object'
        ? 'an object'
        : `a ${typeof value}`
