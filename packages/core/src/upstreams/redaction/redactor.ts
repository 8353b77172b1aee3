import type { JsonObject } from '../../base/json/types.ts'
import { splitBlocks } from '../../http/sse/blocks.ts'
import { type CredentialHeader, credentialCount, recentCredentials } from '../request-headers.ts'
import type { Upstream } from '../upstream.ts'
import { isCleanJson, replaceStrings, type Treatment } from './json.ts'
import { hasNeedlessEscape, masked, unescaped } from './mask.ts'
import { shortestPart } from './part-index.ts'
import { addressesOf, configuredHeaders, isReusable, type Secrets, secretsIn, secretsInUrl } from './secrets.ts'

/** So many credentials made for single calls are looked for outside of errors: the latest ones. */
const mostMade = 8

/**
 * Takes an upstream's secrets out of everything that it sends. Each kind of place has a method of its own:
 *
 * - texts that are no content (errors, comments, close reasons, headers): `text`
 * - JSON, in which content stands beside other members: `isClean` and `json`
 * - server-sent events: `suspects` and `block`
 */
export class Redactor {
  readonly #upstream: Upstream
  readonly #own: Secrets
  readonly #addresses: readonly string[]
  /** Credentials made for the latest calls, and how many had been made when they were collected. */
  #latest: readonly Secrets[] = []
  #collectedAt = 0

  constructor(upstream: Upstream) {
    this.#upstream = upstream
    const { credentials, names } = secretsInUrl(upstream)
    this.#own = secretsIn(configuredHeaders(upstream), credentials, names)
    this.#addresses = addressesOf(upstream)
  }

  /** A text without credentials, in whole or in part, other values of the upstream's headers, and its address. */
  readonly text = (text: string): string => {
    const plain = unescaped(text)
    let hidden = masked(plain, this.#own)
    if (this.#upstream.authorize !== undefined)
      for (const header of recentCredentials(this.#upstream)) hidden = masked(hidden, secretsOf(header))
    let clean = hidden === plain ? text : hidden
    for (const address of this.#addresses) if (clean.includes(address)) clean = clean.replaceAll(address, '[upstream]')
    return clean
  }

  /**
   * JSON text whose strings are redacted where they are no content; every other byte stays. Strings of errors are redacted as `text`
   * does, others lose only credentials of twelve characters or more, because they may repeat what the client wrote.
   *
   * @param outer how the value as a whole is treated
   */
  json(text: string, outer: Treatment = 'plain'): string {
    try {
      JSON.parse(text)
    } catch {
      return this.text(text)
    }
    return replaceStrings(text, this.#clean, outer)
  }

  /** Whether `json` would leave the text of this value as it is. */
  isClean(body: JsonObject): boolean {
    try {
      return isCleanJson(body, this.#isClean, 'plain')
    } catch {
      // It nests too deep for a recursive walk: `json` has a closer look.
      return false
    }
  }

  /**
   * Whether a text holds a credential of twelve characters or more, or a part of one. Fast enough to be asked of each event.
   *
   * @param mayBeIn what `mayBeIn` says of bytes that the text is from
   */
  suspects(text: string, mayBeIn = true): boolean {
    if (mayBeIn && this.#hasCredential(text)) return true
    return hasNeedlessEscape(text) && this.#hasCredential(unescaped(text))
  }

  /** Whether a credential, written without escapes, may be in UTF-8 text. Takes half the time that a search in a string takes. */
  mayBeIn(utf8: Uint8Array): boolean {
    if (this.#own.parts.mayBeIn(utf8)) return true
    if (this.#upstream.authorize !== undefined)
      for (const { parts } of this.#made()) if (parts.mayBeIn(utf8)) return true
    return false
  }

  /** Server-sent events as text: their data as `json` does where it is JSON in one line, everything else as `text` does. */
  events(text: string, outer: Treatment = 'plain'): string {
    let clean = ''
    for (const block of splitBlocks(text)) {
      // Data in several lines is one text only together, and rare: none of it is taken for content.
      const isJson = (block.match(dataLine)?.length ?? 0) < 2
      clean += block.replace(line, (_, field: string, value: string) =>
        field.startsWith('data') && isJson ? field + this.json(value, outer) : field + this.text(value),
      )
    }
    return clean
  }

  readonly #clean = (text: string, treatment: 'plain' | 'error'): string => {
    if (treatment === 'error') return this.text(text)
    if (text.length < shortestPart || !this.suspects(text)) return text
    let clean = masked(unescaped(text), { parts: this.#own.parts })
    for (const { parts } of this.#made()) clean = masked(clean, { parts })
    return clean
  }

  readonly #isClean = (text: string, treatment: 'plain' | 'error'): boolean =>
    treatment === 'error' ? this.text(text) === text : text.length < shortestPart || !this.suspects(text)

  #hasCredential(text: string): boolean {
    if (this.#own.parts.find(text) !== undefined) return true
    if (this.#upstream.authorize !== undefined)
      for (const { parts } of this.#made()) if (parts.find(text) !== undefined) return true
    return false
  }

  #made(): readonly Secrets[] {
    if (this.#upstream.authorize === undefined) return this.#latest
    const times = credentialCount(this.#upstream)
    if (times !== this.#collectedAt) {
      this.#collectedAt = times
      const reusable = [...recentCredentials(this.#upstream)].filter(({ name, value }) => isReusable(name, value))
      this.#latest = reusable.slice(-mostMade).map(secretsOf)
    }
    return this.#latest
  }
}

const dataLine = /^data:/gm
/** A line of server-sent events: a field with its colon, or a comment's, or neither, and what follows. */
const line = /^((?:data|event|id|retry)?: ?|)([^\r\n]+)/gm

const ofHeaders = new WeakMap<CredentialHeader, Secrets>()

function secretsOf(header: CredentialHeader): Secrets {
  let secrets = ofHeaders.get(header)
  if (secrets === undefined) {
    secrets = secretsIn([[header.name, header.value]])
    ofHeaders.set(header, secrets)
  }
  return secrets
}

const redactors = new WeakMap<Upstream, Redactor>()

/** The upstream's redactor, made by the first call. */
export function redactorOf(upstream: Upstream): Redactor {
  let redactor = redactors.get(upstream)
  if (redactor === undefined) {
    redactor = new Redactor(upstream)
    redactors.set(upstream, redactor)
  }
  return redactor
}
