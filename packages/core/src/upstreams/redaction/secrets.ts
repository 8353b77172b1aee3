import { toBase64 } from '../../base/bytes.ts'
import type { Upstream } from '../upstream.ts'
import { PartIndex, type Secrets, shortestPart } from './mask.ts'

/** Secrets from this length on are looked for anywhere in a text, shorter ones as whole words only. */
const shortestAnywhere = 8
/** One or two characters protect nothing, and stand in any text. */
const shortestWord = 3

/** A value with the name of its header or query parameter. */
export type NamedValue = readonly [name: string, value: string]

const publicHeaders = new Set(['anthropic-version', 'anthropic-beta', 'content-type', 'accept', 'user-agent'])
export const isSecret = (name: string): boolean => !publicHeaders.has(name.toLowerCase())
/** Parts of other header values (an address, a title) may stand in any text. */
const isCredential = (name: string): boolean =>
  // An author is no credential.
  /auth(?!ors?\b)|key|token|secret|cookie|credential|password|signature|^sig$/i.test(name)

/** A credential has more characters than a dummy key (`0000000000000000`), which stands in any number. */
const fewestCharacters = 5

/**
 * @param credentials values that are credentials, wherever they are configured
 * @param names values that may be credentials or names (of a deployment, a project): looked for in errors only
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
    if (new Set(value).size < fewestCharacters) words.push(...(value.length >= shortestWord ? [value] : []))
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

/** Whether a header made for a call serves for others too; a signature is good for one request. */
export const isReusable = (name: string, value: string): boolean => isCredential(name) && !/signature=/i.test(value)

/** A value that another one contains must not be masked first. */
const longestFirst = (values: readonly string[]): readonly string[] =>
  [...new Set(values)].sort((a, b) => b.length - a.length)

/** `Bearer`, `Basic`, `Api-Key` and the like in front of a credential. */
const withoutScheme = (value: string): string => value.replace(/^[a-z][a-z-]* +(?=\S+$)/i, '')

/** RFC 7617: `Basic base64(user:password)`. */
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

/** The headers that an upstream's calls always carry. */
export const configuredHeaders = ({ headers, keys = [] }: Upstream): NamedValue[] =>
  [headers, ...keys.map((key) => key.headers)].flatMap((all) => Object.entries(all))

/** Values in an upstream's base URL and query that may be credentials. */
export interface UrlSecrets {
  /** A login, parameters, segments of the path that hold a long opaque run. */
  readonly credentials: readonly string[]
  /** Other segments of the path that are not plain words: a key, or the name of a deployment, which responses may name as well. */
  readonly names: readonly string[]
}

export function secretsInUrl({ baseURL, query = '' }: Upstream): UrlSecrets {
  const url = new URL(baseURL)
  const parameters = [...url.searchParams, ...new URLSearchParams(query)]
  const segments = url.pathname.split('/').map(decoded).filter(isRandom)
  const credentials = [
    decoded(url.password),
    ...parameters.filter(([name, value]) => isCredential(name) || isRandom(value)).map(([, value]) => value),
    ...segments.filter(isOpaque),
  ]
  return {
    credentials: credentials.filter((value) => value !== ''),
    names: segments.filter((segment) => !isOpaque(segment)),
  }
}

/** Names of deployments are short words and numbers with hyphens between; generated keys have a long run without one. */
const isOpaque = (text: string): boolean =>
  text.split(/[-_.~ ]/).some((run) => run.length >= longRun && /\d/.test(run) && /[a-z]/i.test(run))
const longRun = 16

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Whether a text is more than words, numbers, regions (`us-central1`) and versions (`v1beta1`, `2024-10-01-preview`). */
const isRandom = (text: string): boolean => text.length >= shortestAnywhere && !text.split(/[-_.~ ]/).every(isWord)
const isWord = (text: string): boolean => /^(?:[A-Z]?[a-z]*\d{0,2}|[A-Z]+|\d+|v\d+[a-z]+\d*)$/.test(text)

/** An upstream's address as errors name it, the longest form first. */
export function addressesOf({ baseURL }: Upstream): readonly string[] {
  const { origin, host, hostname, pathname } = new URL(baseURL)
  const path = pathname.replace(/\/+$/, '')
  // A host of one bare word may be any word of a text.
  const hosts = [host, hostname].filter((name) => name.includes('.') || name.includes(':'))
  const paths = path.length >= shortestAnywhere ? [`${origin}${path}`, path] : []
  return longestFirst([...paths, origin, ...hosts])
}

const encoder = new TextEncoder()

/**
 * The ways in which software writes a secret down: as it is, URL-encoded once or twice, in hexadecimal digits, in base64. JSON's
 * escapes are not among them: texts are unescaped before they are searched.
 */
export function spellingsOf(secret: string): Set<string> {
  const once = urlEncoded(secret)
  const twice = urlEncoded(once)
  const hex = hexOf(encoder.encode(secret))
  const all = new Set([secret, once, lowerEscapes(once), twice, lowerEscapes(twice), hex, hex.toUpperCase()])
  // The digits depend on how many bytes stand before the secret (three cases), and the outer ones on its neighbours.
  for (const before of ['', 'a', 'aa']) {
    const text = toBase64(encoder.encode(before + secret)).replace(/={1,2}$/, '')
    const digits = before === '' ? [text, text.slice(0, -2)] : [text.slice(4, -2)]
    for (const own of digits) all.add(own).add(own.replaceAll('+', '-').replaceAll('/', '_'))
  }
  all.delete('')
  return all
}

/** A lone surrogate cannot be URL-encoded. */
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
