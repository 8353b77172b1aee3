import { toBase64 } from '../../base/bytes.ts'
import type { Upstream } from '../upstream.ts'
import { PartIndex, type Secrets, shortestPart } from './mask.ts'

/** Secrets of at least this length are searched for anywhere in a text, shorter ones only as whole words. */
const shortestAnywhere = 8
/** One or two characters protect nothing and occur in any text. */
const shortestWord = 3

/** A value with the name of its header or query parameter. */
type NamedValue = readonly [name: string, value: string]

const publicHeaders = new Set(['anthropic-version', 'anthropic-beta', 'content-type', 'accept', 'user-agent'])
/** Returns whether the value of a header must be masked for display. */
export const isSecret = (name: string): boolean => !publicHeaders.has(name.toLowerCase())
/** Returns whether a header or parameter carries a credential. Parts of other values (an address, a title) may occur in any text. */
export const isCredential = (name: string): boolean =>
  // Excludes the word "author".
  /auth(?!ors?\b)|key|token|secret|cookie|credential|password|signature|^sig$/i.test(name)

/** A credential has at least this many different characters. Dummy keys (`0000000000000000`) have fewer and occur in any number. */
const minDistinctCharacters = 5

/**
 * Prepares the secrets of an upstream for searches.
 *
 * @param credentials values that are credentials, wherever they are configured
 * @param names values that are either credentials or names (of a deployment, a project); they are searched for in errors only
 */
export function secretsIn(
  headers: Iterable<NamedValue>,
  credentials: Iterable<string> = [],
  names: Iterable<string> = [],
): Secrets {
  const parts: string[] = []
  const whole: string[] = []
  const words: string[] = []
  const addCredential = (value: string): void => {
    if (new Set(value).size < minDistinctCharacters) words.push(...(value.length >= shortestWord ? [value] : []))
    else if (value.length >= shortestPart) parts.push(...spellingsOf(value))
    else if (value.length >= shortestAnywhere)
      whole.push(...[...spellingsOf(value)].filter(({ length }) => length >= shortestAnywhere))
    else if (value.length >= shortestWord)
      words.push(...[...spellingsOf(value)].filter(({ length }) => length >= shortestWord))
  }
  for (const [name, value] of headers) {
    if (!isSecret(name)) continue
    if (!isCredential(name)) {
      if (value.length >= shortestAnywhere) whole.push(value)
      continue
    }
    addCredential(withoutScheme(value))
    const password = passwordIn(value)
    if (password !== undefined) addCredential(password)
  }
  for (const value of credentials) addCredential(value)
  for (const value of names) if (value.length >= shortestAnywhere) whole.push(...spellingsOf(value))
  return { parts: new PartIndex(parts), whole: longestFirst(whole), words: longestFirst(words) }
}

/** Returns whether a header from `authorize` is valid for other calls too. A signature is valid for one call. */
export const isReusable = (name: string, value: string): boolean => isCredential(name) && !/signature=/i.test(value)

/** Sorts values by length, so that a value is not masked before a longer one that contains it. */
const longestFirst = (values: readonly string[]): readonly string[] =>
  [...new Set(values)].sort((a, b) => b.length - a.length)

/** Removes a scheme (`Bearer`, `Basic`, `Api-Key`) in front of a credential. */
const withoutScheme = (value: string): string => value.replace(/^[a-z][a-z-]* +(?=\S+$)/i, '')

/** Returns the password of a `Basic base64(user:password)` header (RFC 7617). */
function passwordIn(value: string): string | undefined {
  const encoded = /^basic +(\S+)$/i.exec(value)?.[1]
  if (encoded === undefined) return undefined
  try {
    const login = atob(encoded)
    return login.slice(login.indexOf(':') + 1)
  } catch {
    return undefined
  }
}

/** Returns the configured headers of an upstream, with those of all its keys. */
export const configuredHeaders = ({ headers, keys = [] }: Upstream): NamedValue[] =>
  [headers, ...keys.map((key) => key.headers)].flatMap((all) => Object.entries(all))

/** Values in an upstream's base URL and query that may be credentials. */
interface UrlSecrets {
  /** Passwords, parameters, and path segments with a long random run. */
  readonly credentials: readonly string[]
  /** Other path segments that are not plain words: a key, or the name of a deployment, which responses may contain too. */
  readonly names: readonly string[]
}

export function secretsInUrl({ baseURL, query = '' }: Upstream): UrlSecrets {
  const url = new URL(baseURL)
  const parameters = [...url.searchParams, ...new URLSearchParams(query)]
  const segments = url.pathname.split('/').map(decoded).filter(isUnusualName)
  const credentials = [
    decoded(url.password),
    ...parameters.filter(([name, value]) => isCredential(name) || isUnusualName(value)).map(([, value]) => value),
    ...segments.filter(looksGenerated),
  ]
  return {
    credentials: credentials.filter((value) => value !== ''),
    names: segments.filter((segment) => !looksGenerated(segment)),
  }
}

/**
 * Returns whether a text looks like a generated key, which has a long run of letters and digits. Names of deployments are short words and
 * numbers with hyphens.
 */
const looksGenerated = (text: string): boolean =>
  text.split(/[-_.~ ]/).some((run) => run.length >= minGeneratedRun && /\d/.test(run) && /[a-z]/i.test(run))
const minGeneratedRun = 16

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Returns whether a text is more than words, numbers, regions (`us-central1`) and versions (`v1beta1`, `2024-10-01-preview`). */
const isUnusualName = (text: string): boolean => text.length >= shortestAnywhere && !text.split(/[-_.~ ]/).every(isWord)
const isWord = (text: string): boolean => /^(?:[A-Z]?[a-z]*\d{0,2}|[A-Z]+|\d+|v\d+[a-z]+\d*)$/.test(text)

/** Returns the forms in which errors can contain the upstream's address, the longest first. */
export function addressesOf({ baseURL }: Upstream): readonly string[] {
  const { origin, host, hostname, pathname } = new URL(baseURL)
  const path = pathname.replace(/\/+$/, '')
  // A host without a dot can be any word of a text.
  const hosts = [host, hostname].filter((name) => name.includes('.') || name.includes(':'))
  const paths = path.length >= shortestAnywhere ? [`${origin}${path}`, path] : []
  return longestFirst([...paths, origin, ...hosts])
}

const encoder = new TextEncoder()

/**
 * Returns the spellings of a secret that software writes: unchanged, as in a JSON string, URL-encoded once or twice, hexadecimal, and
 * base64. Needless JSON escapes are not among them, because they are removed before the search.
 */
function spellingsOf(secret: string): Set<string> {
  const once = urlEncoded(secret)
  const twice = urlEncoded(once)
  const hex = hexOf(encoder.encode(secret))
  const inJson = JSON.stringify(secret).slice(1, -1)
  const all = new Set([secret, inJson, once, lowerEscapes(once), twice, lowerEscapes(twice), hex, hex.toUpperCase()])
  // Base64 digits depend on the number of bytes in front of the secret (three cases); the first and last digits depend on its neighbors.
  for (const before of ['', 'a', 'aa']) {
    const text = toBase64(encoder.encode(before + secret)).replace(/={1,2}$/, '')
    const digits = before === '' ? [text, text.slice(0, -2)] : [text.slice(4, -2)]
    for (const middle of digits) all.add(middle).add(middle.replaceAll('+', '-').replaceAll('/', '_'))
  }
  all.delete('')
  return all
}

/** URL-encodes a text. A text with a lone surrogate cannot be encoded and stays unchanged. */
function urlEncoded(text: string): string {
  try {
    return encodeURIComponent(text)
  } catch {
    return text
  }
}

const lowerEscapes = (text: string): string => text.replace(/%(?:25)*[0-9A-F]{2}/g, (code) => code.toLowerCase())

function hexOf(bytes: Uint8Array): string {
  let hex = ''
  for (const byte of bytes) hex += byte.toString(16).padStart(2, '0')
  return hex
}
