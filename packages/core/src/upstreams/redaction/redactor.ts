import { stringEnd } from '../../base/json/scan.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import { splitBlocks } from '../../http/sse/blocks.ts'
import { type CredentialHeader, credentialCount, recentCredentials } from '../outgoing-call.ts'
import type { Upstream } from '../upstream.ts'
import { dropNeedlessEscapes, hasNeedlessEscape, maskSecrets, type Secrets, shortestPart } from './mask.ts'
import { addressesOf, configuredHeaders, isReusable, isSecret, secretsIn, secretsInUrl } from './secrets.ts'

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
  readonly redactText = (text: string): string => {
    const plain = dropNeedlessEscapes(text)
    let hidden = maskSecrets(plain, this.#own)
    if (this.#upstream.authorize !== undefined)
      for (const header of recentCredentials(this.#upstream)) hidden = maskSecrets(hidden, secretsOf(header))
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
  redactJson(text: string, outer: Treatment = 'plain'): string {
    try {
      JSON.parse(text)
    } catch {
      return this.redactText(text)
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
   * @param mayHaveCredential what `mayBeIn` says of bytes that the text is from
   */
  hasCredential(text: string, mayHaveCredential = true): boolean {
    if (mayHaveCredential && this.#matchesCredential(text)) return true
    return hasNeedlessEscape(text) && this.#matchesCredential(dropNeedlessEscapes(text))
  }

  /** Whether a credential, written without escapes, may be in UTF-8 text. Takes half the time that a search in a string takes. */
  mayBeIn(utf8: Uint8Array): boolean {
    if (this.#own.parts.mayMatch(utf8)) return true
    if (this.#upstream.authorize !== undefined)
      for (const { parts } of this.#recentSecrets()) if (parts.mayMatch(utf8)) return true
    return false
  }

  /** Server-sent events as text: their data as `json` does where it is JSON in one line, everything else as `text` does. */
  redactEvents(text: string, outer: Treatment = 'plain'): string {
    let clean = ''
    for (const block of splitBlocks(text)) {
      // Data in several lines is one text only together, and rare: none of it is taken for content.
      const isJson = (block.match(dataLine)?.length ?? 0) < 2
      clean += block.replace(line, (_, field: string, value: string) =>
        field.startsWith('data') && isJson ? field + this.redactJson(value, outer) : field + this.redactText(value),
      )
    }
    return clean
  }

  readonly #clean = (text: string, treatment: 'plain' | 'error'): string => {
    if (treatment === 'error') return this.redactText(text)
    if (text.length < shortestPart || !this.hasCredential(text)) return text
    let clean = maskSecrets(dropNeedlessEscapes(text), { parts: this.#own.parts })
    for (const { parts } of this.#recentSecrets()) clean = maskSecrets(clean, { parts })
    return clean
  }

  readonly #isClean = (text: string, treatment: 'plain' | 'error'): boolean =>
    treatment === 'error' ? this.redactText(text) === text : text.length < shortestPart || !this.hasCredential(text)

  #matchesCredential(text: string): boolean {
    if (this.#own.parts.find(text) !== undefined) return true
    if (this.#upstream.authorize !== undefined)
      for (const { parts } of this.#recentSecrets()) if (parts.find(text) !== undefined) return true
    return false
  }

  #recentSecrets(): readonly Secrets[] {
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

/**
 * Takes an upstream's credentials and address out of a text that is no content: in whole and in part, in every spelling of
 * `upstreams/redaction/spellings.ts`, or with the escapes of JSON.
 */
export const redact = (text: string, upstream: Upstream): string => redactorOf(upstream).redactText(text)

/** Headers of a call, fit to be shown: everything but what is known to be public is masked. */
export const maskHeaders = (
  headers: Readonly<Record<string, string>>,
  upstream: Upstream,
): Readonly<Record<string, string>> => {
  const own = new Set(configuredHeaders(upstream).map(([name]) => name.toLowerCase()))
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, own.has(name) && isSecret(name) ? '***' : value]),
  )
}

/** How the texts within a JSON value are treated. */
export type Treatment =
  /** Searched for credentials. */
  | 'plain'
  /** The upstream's words about a failure: searched for everything that is not for clients. */
  | 'error'
  /** A model's words: left as they are. */
  | 'content'

/** The treatment of a text under a name of this kind, within a value of that treatment. */
const ofText = (outer: Treatment, kind: MemberKind | undefined): Treatment =>
  outer !== 'plain' || kind === undefined ? outer : kind === 'content' || kind === 'value' ? 'content' : 'error'

/** The same of an object. */
const ofObject = (outer: Treatment, kind: MemberKind | undefined): Treatment =>
  outer !== 'plain' ? outer : kind === 'error' ? 'error' : kind === 'value' ? 'content' : 'plain'

/** Whether a text may pass as it is. */
export type IsClean = (text: string, treatment: 'plain' | 'error') => boolean

/** Whether all texts of a value may pass, names included. */
export function isCleanJson(value: Json, isClean: IsClean, outer: Treatment, kind?: MemberKind): boolean {
  if (typeof value === 'string') {
    const treatment = ofText(outer, kind)
    return treatment === 'content' || isClean(value, treatment)
  }
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) {
    // Vectors are the longest lists there are. Read as `value[0]`, where lists of objects are read too, V8 makes an object of each number.
    if (kind === 'content' && outer !== 'error' && typeof Reflect.get(value, 0) === 'number') return true
    for (let at = 0; at < value.length; at++) if (!isCleanJson(value[at] as Json, isClean, outer, kind)) return false
    return true
  }
  const inner = ofObject(outer, kind)
  if (inner === 'content') return true
  for (const name in value) {
    const member = value[name]
    if (!isClean(name, 'plain')) return false
    if (typeof member !== 'string' && typeof member !== 'object') continue
    if (!isCleanJson(member as Json, isClean, inner, memberKind(name))) return false
  }
  return true
}

interface Frame {
  readonly treatment: Treatment
  readonly isObject: boolean
  /** The next string of an object is a name. */
  atName: boolean
  /** That of the member at hand; of a list, its own. */
  kind: MemberKind | undefined
}

/**
 * JSON text with some of its strings replaced; every other byte stays. The text must be valid.
 *
 * @param replace returns the very string where nothing is to be replaced; names are given to it as `plain`
 */
export function replaceStrings(
  text: string,
  replace: (value: string, treatment: 'plain' | 'error') => string,
  outer: Treatment,
): string {
  const frames: Frame[] = []
  let frame: Frame = { treatment: outer, isObject: false, atName: false, kind: undefined }
  let out = ''
  let from = 0
  for (let at = 0; at < text.length; at++) {
    switch (text[at]) {
      case '"': {
        const end = stringEnd(text, at)
        const value = JSON.parse(text.slice(at, end)) as string
        const isName = frame.atName
        if (isName) {
          frame.atName = false
          frame.kind = memberKind(value)
        }
        const treatment =
          isName && frame.treatment === 'error'
            ? 'plain'
            : isName
              ? frame.treatment
              : ofText(frame.treatment, frame.kind)
        const told = treatment === 'content' ? value : replace(value, treatment)
        if (told !== value) {
          out += text.slice(from, at) + JSON.stringify(told)
          from = end
        }
        at = end - 1
        break
      }
      case '{':
        frames.push(frame)
        frame = { treatment: ofObject(frame.treatment, frame.kind), isObject: true, atName: true, kind: undefined }
        break
      case '[':
        frames.push(frame)
        frame = { treatment: frame.treatment, isObject: false, atName: false, kind: frame.kind }
        break
      case '}':
      case ']':
        frame = frames.pop() ?? frame
        break
      case ',':
        frame.atName = frame.isObject
        break
      default:
    }
  }
  return from === 0 ? text : out + text.slice(from)
}

/**
 * What the members of an upstream's JSON hold, by their names. Everything that is not named here is searched for credentials; so a
 * unknown field is never a leak.
 *
 * - `content`: the text is what a model said or drew, or a seal: it passes as it is.
 * - `value`: all of it is what a model said, names included: arguments of tool calls.
 * - `error`: the upstream's own words about a failure: neither credentials nor addresses of the upstream pass.
 * - `error-text`: the same where it is a text. Under such a name formats also have objects of other kinds (chat's `message`).
 */
export type MemberKind = 'content' | 'value' | 'error' | 'error-text'

const names: { readonly [K in MemberKind]: string } = {
  content: `content text delta arguments partial_json reasoning reasoning_content thinking refusal transcript token tokens
    data b64_json embedding values float audio signature thought_signature encrypted_content obfuscation p output_text`,
  value: 'input args',
  error: 'error errors last_error detail details status_details incomplete_details failure warnings',
  'error-text': `message msg reason error_message status_message block_reason_message finish_message failure_reason`,
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** As OpenAI and Anthropic write a name, as Google does, and as AWS and .NET do. */
function casesOf(name: string): Set<string> {
  const camel = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
  return new Set([name, camel, capital(camel)])
}

const kinds: ReadonlyMap<string, MemberKind> = new Map(
  Object.entries(names).flatMap(([kind, list]) =>
    list.split(/\s+/).flatMap((name) => [...casesOf(name)].map((written) => [written, kind as MemberKind] as const)),
  ),
)

export const memberKind = (name: string): MemberKind | undefined => kinds.get(name)

const alternatives = (kind: MemberKind): string =>
  [...kinds]
    .filter(([, its]) => its === kind)
    .map(([name]) => name)
    .join('|')
const errorMember = new RegExp(
  `"(?:(?:${alternatives('error')})"\\s*:\\s*[^n\\s]|(?:${alternatives('error-text')})"\\s*:\\s*["[])|\\\\u00[4-7]`,
)

/**
 * Whether JSON text may have a member with an error in it: a name of one with a value that is not null, or a name that is written
 * with escapes. An `error-text` counts only with a text as its value.
 */
export const mayHaveErrorMember = (json: string): boolean => errorMember.test(json)
