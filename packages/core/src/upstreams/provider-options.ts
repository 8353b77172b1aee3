import type { ModelRule } from '../formats/target-traits.ts'
import { isValidHeader } from '../http/inbound.ts'
import { checkCard } from './model-cards/check-card.ts'
import type { ApiKey, Upstream, UpstreamOptions } from './upstream.ts'

/**
 * Builds an upstream, or a placeholder with the problems of its options. A factory does not throw, because it runs inside the user's
 * module, where the first exception would hide all other problems. The placeholder speaks no format, so that no call can use it;
 * `createGateway` reports its problems.
 *
 * @param problems each begins with the name of its option
 */
export const createUpstream = (problems: readonly string[], build: () => Upstream): Upstream =>
  problems.length === 0
    ? build()
    : { baseURL: '', formats: {}, headers: {}, passHeaders: [], quirks: {}, problems: [...problems] }

/** Options that hold a credential, each with the environment variable that it is usually read from. */
export type CredentialVariables = { readonly [option: string]: string | undefined }

/**
 * Returns the problems of the options that all provider factories share.
 *
 * @param variables the provider's credential options. One that is present but undefined is a problem: its variable is probably not set
 */
export function commonProblems(options: UpstreamOptions, variables: CredentialVariables = {}): string[] {
  const { baseURL, headers, modelRules } = options
  const missing = Object.entries({ apiKey: undefined, ...variables }).flatMap(([option, variable]) => {
    const value: unknown = options[option as keyof UpstreamOptions]
    if (!Object.hasOwn(options, option) || (value !== undefined && value !== null)) return []
    return [`${option} is ${value}. ${setVariable(variable)}, or leave ${option} out if the upstream needs none`]
  })
  return [
    ...missing,
    ...keyProblems(options.apiKey, variables.apiKey),
    ...headerProblems(headers),
    ...(baseURL === undefined ? [] : baseUrlProblem(baseURL)),
    ...modelRuleProblems(modelRules),
  ]
}

const setVariable = (variable: string | undefined): string =>
  `Set the environment variable that it is read from${variable === undefined ? '' : ` (usually ${variable})`}`

function keyProblems(apiKey: unknown, variable: string | undefined): string[] {
  if (apiKey === undefined || apiKey === null) return []
  const optional = ', or leave apiKey out if the upstream needs none'
  if (!Array.isArray(apiKey)) return secretProblem('apiKey', apiKey, { variable, optional })
  if (apiKey.length === 0) return ['apiKey is an empty list: add a key, or leave apiKey out']
  return apiKey.flatMap((entry: unknown, index) => {
    const path = `apiKey[${index}]`
    if (typeof entry !== 'object' || entry === null) return secretProblem(path, entry, { variable })
    const { key, weight = 1 } = entry as { key?: unknown; weight?: unknown }
    const weightProblem = `${path}.weight is ${String(weight)}: write a number greater than 0`
    const isWeight = typeof weight === 'number' && weight > 0 && Number.isFinite(weight)
    return [...secretProblem(`${path}.key`, key, { variable }), ...(isWeight ? [] : [weightProblem])]
  })
}

/**
 * Returns the problem of a value that must be a non-empty secret, as a list of none or one. The text never contains the value.
 *
 * @param optional alternative to setting the secret, appended to the text
 */
export function secretProblem(
  path: string,
  value: unknown,
  { variable, optional = '' }: { readonly variable?: string | undefined; readonly optional?: string } = {},
): string[] {
  if (value === undefined || value === null) return [`${path} is ${value}. ${setVariable(variable)}${optional}`]
  if (typeof value !== 'string') return [`${path} is ${typeName(value)}: write it as a string`]
  if (value.trim() === '') return [`${path} is empty. ${setVariable(variable)}${optional}`]
  return isValidHeader(['x', value])
    ? []
    : [`${path} contains a line break or another character that is not allowed in headers`]
}

function headerProblems(headers: unknown): string[] {
  if (headers === undefined) return []
  if (typeof headers !== 'object' || headers === null || Array.isArray(headers))
    return [`headers is ${typeName(headers)}: write an object of names and values`]
  return Object.entries(headers).flatMap(([name, value]) => {
    if (isValidHeader([name, value])) return []
    if (typeof value !== 'string') return [`headers['${name}'] is ${typeName(value)}: write a string, or leave it out`]
    return [`headers['${name}'] has a name or a value that HTTP does not allow`]
  })
}

/** Names the type of a value without showing it. */
export function typeName(value: unknown): string {
  if (value === undefined || value === null) return String(value)
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

/** Returns the problem of a base URL, with the fix, as a list of none or one. */
export function baseUrlProblem(baseURL: unknown): string[] {
  if (typeof baseURL !== 'string')
    return [
      `baseURL is ${baseURL === undefined ? 'undefined' : `a ${typeof baseURL}`}: write a URL such as 'https://host/v1'`,
    ]
  let url: URL
  try {
    url = new URL(baseURL)
  } catch {
    return [`baseURL '${baseURL}' is not a URL: write a full URL such as 'https://host/v1'`]
  }
  if (url.username !== '' || url.password !== '')
    return ["baseURL contains a user name or a password: set them as headers instead, { authorization: 'Basic …' }"]
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return [`baseURL '${baseURL}' must start with http:// or https://`]
  if (url.search !== '' || url.hash !== '')
    return [`baseURL '${url.origin}${url.pathname}' must not contain a query or a fragment`]
  return []
}

/** Returns a base URL without trailing slashes and without `drop` at its end, so that URLs with and without a version both work. */
export function cleanBaseURL(baseURL: string, drop = ''): string {
  let clean = baseURL
  while (clean.endsWith('/')) clean = clean.slice(0, -1)
  return drop !== '' && clean.endsWith(drop) ? clean.slice(0, -drop.length) : clean
}

/**
 * Returns the credentials of an upstream: a single key as part of its `headers`, several as its `keys`.
 *
 * @param apiKey already checked by `commonProblems`
 * @param carry returns the headers that carry a key
 * @param headers additional headers of every call; they override those of `carry`
 */
export function apiKeyHeaders(
  apiKey: ApiKey | undefined,
  carry: (key: string) => Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>>,
): Pick<Upstream, 'headers' | 'keys'> {
  if (apiKey === undefined) return { headers }
  const keys = (typeof apiKey === 'string' ? [apiKey] : apiKey).map((given) => {
    const { key, weight = 1 } = typeof given === 'string' ? { key: given } : given
    return { headers: carry(key), weight }
  })
  const [only] = keys
  return only !== undefined && keys.length === 1 ? { headers: { ...only.headers, ...headers } } : { headers, keys }
}

/** Returns `Authorization: Bearer …`, the header of most providers. */
export const bearerHeader = (key: string): Readonly<Record<string, string>> => ({ authorization: `Bearer ${key}` })

/** Returns the model rules of an upstream: the operator's first, then the built-in ones. */
export function combineModelRules(
  given: readonly ModelRule[] = [],
  builtIn: readonly ModelRule[] = [],
): Pick<Upstream, 'modelRules'> {
  const rules = [...given, ...builtIn]
  return rules.length === 0 ? {} : { modelRules: rules }
}

/** Returns the problems of an operator's model rules. */
function modelRuleProblems(given: unknown): string[] {
  if (given === undefined) return []
  if (!Array.isArray(given)) return ["modelRules is not a list: write [{ model: 'my-deployment', like: 'gpt-5.4' }]"]
  const problems: string[] = []
  for (const [index, rule] of (given as readonly (Partial<ModelRule> | null | undefined)[]).entries()) {
    const where = `modelRules[${index}]`
    if (typeof rule?.model !== 'string' || rule.model === '')
      problems.push(`${where} has no model: set the model to the start of the model name`)
    else checkCard(rule.card, `${where}.card`, (problem) => problems.push(problem))
  }
  return problems
}
