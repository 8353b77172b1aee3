import { type MadeHeader, madeHeaders } from './call-headers.ts'
import type { Upstream } from './upstreams/upstream.ts'

/** So many characters of a credential in a row are taken out, also where the rest is missing: cut, or masked by others. */
const tell = 12
/** A run of that length holds one of these, counted off from the text's beginning. */
const step = 6
/** What is shorter may be any word. */
const shortest = 8

/** What is looked for in a text. */
interface Needles {
  /** Credentials in all their spellings, by each six characters of them, with where these stand. */
  readonly grams: ReadonlyMap<string, readonly (readonly [needle: string, at: number])[]>
  /** Other values: only as a whole. */
  readonly whole: readonly string[]
}

/**
 * Takes an upstream's credentials and address out of a text: in whole and in part, also base64, URL-encoded, or with the escapes
 * of JSON.
 */
export function redact(text: string, upstream: Upstream): string {
  const plain = text.includes('\\') ? unescaped(text) : text
  let hidden = masked(plain, ownNeedles(upstream))
  if (upstream.authorize !== undefined) for (const needles of madeNeedles(upstream)) hidden = masked(hidden, needles)
  let clean = hidden === plain ? text : hidden
  const { origin, host } = addressOf(upstream)
  if (clean.includes(origin)) clean = clean.replaceAll(origin, '[upstream]')
  // A host of one bare word may be any word of the text.
  return (host.includes('.') || host.includes(':')) && clean.includes(host)
    ? clean.replaceAll(host, '[upstream]')
    : clean
}

/** Headers of a call, fit to be shown: everything but what is known to be public is masked. */
export const maskHeaders = (
  headers: Readonly<Record<string, string>>,
  upstream: Upstream,
): Readonly<Record<string, string>> => {
  const carried = [upstream.headers, ...(upstream.keys ?? []).map((key) => key.headers)]
  const own = new Set(carried.flatMap((headers) => Object.keys(headers)).map((name) => name.toLowerCase()))
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, own.has(name) && isSecret(name) ? '***' : value]),
  )
}

const publicHeaders = new Set(['anthropic-version', 'anthropic-beta', 'content-type', 'accept', 'user-agent'])
const isSecret = (name: string): boolean => !publicHeaders.has(name.toLowerCase())
/** Of what else a user sends with each call, a part may stand in any text: an address, a title. */
const isCredential = (name: string): boolean => /auth|key|token|secret|cookie|credential/i.test(name)

function masked(text: string, { whole, grams }: Needles): string {
  let clean = text
  for (const value of whole) if (clean.includes(value)) clean = clean.replaceAll(value, '***')
  return withoutParts(clean, grams)
}

function withoutParts(text: string, grams: Needles['grams']): string {
  if (grams.size === 0 || text.length < tell) return text
  let clean = ''
  let from = 0
  for (let at = 0; at + step <= text.length; at += step) {
    if (at < from) continue
    const places = grams.get(text.slice(at, at + step))
    if (places === undefined) continue
    let begin = at
    let end = at
    for (const [needle, place] of places) {
      const run = runAround(text, at, from, needle, place)
      if (run.end - run.begin > end - begin) ({ begin, end } = run)
    }
    if (end - begin < tell) continue
    clean += `${text.slice(from, behindEscape(text, begin))}***`
    from = end
  }
  return from === 0 ? text : clean + text.slice(from)
}

/** How far text and needle go together, before and behind a place that they share. */
function runAround(text: string, at: number, from: number, needle: string, place: number) {
  let before = 0
  while (at - before > from && place > before && text[at - before - 1] === needle[place - before - 1]) before++
  let behind = step
  while (at + behind < text.length && text[at + behind] === needle[place + behind]) behind++
  return { begin: at - before, end: at + behind }
}

/** The text may be JSON, and must stay it: half an escape is none. */
function behindEscape(text: string, begin: number): number {
  // No further back than an escape is long: what is looked for in all of a long text, time and again, takes its time squared.
  let slash = begin - 1
  while (slash > begin - 6 && text[slash] !== '\\') slash--
  if (text[slash] !== '\\') return begin
  let first = slash
  while (text[first - 1] === '\\') first--
  // Of two in a row the second begins nothing.
  if ((slash - first) % 2 === 1) return begin
  return Math.max(begin, slash + (text[slash + 1] === 'u' ? 6 : 2))
}

const ownKnown = new WeakMap<Upstream, Needles>()

function ownNeedles(upstream: Upstream): Needles {
  let needles = ownKnown.get(upstream)
  if (needles === undefined) {
    const carried = [upstream.headers, ...(upstream.keys ?? []).map((key) => key.headers)]
    needles = needlesOf(carried.flatMap((headers) => Object.entries(headers)))
    ownKnown.set(upstream, needles)
  }
  return needles
}

const madeKnown = new WeakMap<MadeHeader, Needles>()

/** Those of what was made for its latest calls. */
function madeNeedles(upstream: Upstream): Needles[] {
  const all: Needles[] = []
  for (const header of madeHeaders(upstream)) {
    let needles = madeKnown.get(header)
    if (needles === undefined) {
      needles = needlesOf([[header.name, header.value]])
      madeKnown.set(header, needles)
    }
    all.push(needles)
  }
  return all
}

function needlesOf(headers: Iterable<readonly [name: string, value: string]>): Needles {
  const parts: string[] = []
  const whole: string[] = []
  for (const [name, value] of headers) {
    if (!isSecret(name)) continue
    const bare = value.replace(/^(bearer|basic) /i, '')
    if (bare.length < shortest) continue
    if (bare.length < tell || !isCredential(name)) whole.push(bare)
    else parts.push(...spellings(bare))
  }
  const grams = new Map<string, [string, number][]>()
  for (const needle of parts)
    for (let at = 0; at + step <= needle.length; at++) {
      const gram = needle.slice(at, at + step)
      const places = grams.get(gram)
      if (places === undefined) grams.set(gram, [[needle, at]])
      else places.push([needle, at])
    }
  return { grams, whole }
}

function spellings(secret: string): Set<string> {
  const all = new Set([secret, encodeURIComponent(secret)])
  // By how many bytes stand in front of it, base64 is one of three; its ends depend on what is beside it.
  for (const before of ['', 'a', 'aa']) {
    const text = toBase64(before + secret).replaceAll('=', '')
    const own = text.slice(before === '' ? 0 : 4, -2)
    all.add(own)
    all.add(own.replaceAll('+', '-').replaceAll('/', '_'))
  }
  return all
}

/** Headers hold bytes; what else a configuration holds is in no header that could be sent. */
const toBase64 = (text: string): string => {
  try {
    return btoa(text)
  } catch {
    return ''
  }
}

/** JSON text without the escapes that it does not need. It means the same. */
const unescaped = (text: string): string =>
  text.replace(/\\(?:u00([2-7][0-9a-f])|.)/gi, (written, code: string | undefined) => {
    if (written === '\\/') return '/'
    const char = code === undefined ? '' : String.fromCharCode(Number.parseInt(code, 16))
    return char === '' || char === '"' || char === '\\' || char === '\x7f' ? written : char
  })

const addresses = new WeakMap<Upstream, URL>()

function addressOf(upstream: Upstream): URL {
  let url = addresses.get(upstream)
  if (url === undefined) {
    url = new URL(upstream.baseURL)
    addresses.set(upstream, url)
  }
  return url
}
