import { type Json, type JsonObject, stringEnd } from '../../base/json/json.ts'
import { splitBlocks } from '../../http/sse/blocks.ts'
import { type CredentialHeader, credentialCount, recentCredentials } from '../outgoing-call.ts'
import type { Upstream } from '../upstream.ts'
import { dropNeedlessEscapes, hasNeedlessEscape, maskSecrets, type Secrets, shortestPart } from './mask.ts'
import { addressesOf, configuredHeaders, isReusable, isSecret, secretsIn, secretsInUrl } from './secrets.ts'

/** Number of the latest credentials from `authorize` that are searched for outside of errors. */
const maxRecentSecrets = 8

/**
 * Removes an upstream's secrets from everything that it sends. What is removed depends on the place in a response:
 *
 *    upstream's response                    treatment    removed
 *    -----------------------------------    ---------    ------------------------------------------------------------
 *    error, comment, header, close reason   'error'      credentials in whole and in part, other header values, addresses
 *    {"id": …, "model": …}                  'plain'      credentials of 12 characters or more, in whole and in part
 *    {"content": …, "arguments": …}         'content'    nothing: this is the model's text and may repeat the client's
 *
 * secrets.ts decides which values are secret, mask.ts finds and masks them, and the table of members below assigns the treatments. The
 * methods: `redactText` for errors and other short texts, `isClean` and `redactJson` for JSON, `mayHaveCredential`, `hasCredential` and
 * `redactEvents` for server-sent events.
 */
export class Redactor {
  readonly #upstream: Upstream
  readonly #configured: Secrets
  readonly #addresses: readonly string[]
  /** Credentials of the latest calls from `authorize`, and `credentialCount` when they were collected. */
  #recent: readonly Secrets[] = []
  #recentCount = 0

  constructor(upstream: Upstream) {
    this.#upstream = upstream
    const { credentials, names } = secretsInUrl(upstream)
    this.#configured = secretsIn(configuredHeaders(upstream), credentials, names)
    this.#addresses = addressesOf(upstream)
  }

  /** Returns a text without the upstream's credentials (in whole or in part), other header values and addresses. */
  readonly redactText = (text: string): string => {
    let clean = this.maskCredentials(text)
    for (const address of this.#addresses) if (clean.includes(address)) clean = clean.replaceAll(address, '[upstream]')
    return clean
  }

  /** Returns a text without the upstream's credentials (in whole or in part) and other header values. Addresses stay. */
  maskCredentials(text: string): string {
    const plain = dropNeedlessEscapes(text)
    let hidden = maskSecrets(plain, this.#configured)
    if (this.#upstream.authorize !== undefined)
      for (const header of recentCredentials(this.#upstream)) hidden = maskSecrets(hidden, secretsOf(header))
    return hidden === plain ? text : hidden
  }

  /**
   * Returns JSON text with redacted strings, except in content; every other byte stays. Strings of errors are redacted like `redactText`.
   * Other strings only lose credentials of twelve characters or more, because they may repeat the client's text.
   *
   * @param outer treatment of the value as a whole
   */
  redactJson(text: string, outer: Treatment = 'plain'): string {
    try {
      JSON.parse(text)
    } catch {
      return this.redactText(text)
    }
    return replaceStrings(text, this.#clean, outer)
  }

  /** Returns whether `redactJson` would leave the text of this value unchanged. */
  isClean(body: JsonObject): boolean {
    try {
      return isCleanJson(body, this.#isClean, 'plain')
    } catch {
      // The value nests too deep for a recursive walk; `redactJson` is iterative.
      return false
    }
  }

  /**
   * Returns whether a text contains a credential of twelve characters or more, or a part of one. It is fast enough for each event of a
   * stream.
   *
   * @param mayHave result of `mayHaveCredential` for the bytes of the text
   */
  hasCredential(text: string, mayHave = true): boolean {
    if (mayHave && this.#matchesCredential(text)) return true
    return hasNeedlessEscape(text) && this.#matchesCredential(dropNeedlessEscapes(text))
  }

  /** Returns whether UTF-8 text may contain an unescaped credential. A search in bytes takes half the time of one in a string. */
  mayHaveCredential(utf8: Uint8Array): boolean {
    if (this.#configured.parts.mayMatch(utf8)) return true
    if (this.#upstream.authorize !== undefined)
      for (const { parts } of this.#recentSecrets()) if (parts.mayMatch(utf8)) return true
    return false
  }

  /** Returns server-sent events with redacted data: as `redactJson` does if it is JSON in one line, otherwise as `redactText` does. */
  redactEvents(text: string, outer: Treatment = 'plain'): string {
    let clean = ''
    for (const block of splitBlocks(text)) {
      // Data in several lines is one JSON text only when joined. That is rare, so all of it is redacted as text.
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
    let clean = maskSecrets(dropNeedlessEscapes(text), { parts: this.#configured.parts })
    for (const { parts } of this.#recentSecrets()) clean = maskSecrets(clean, { parts })
    return clean
  }

  readonly #isClean = (text: string, treatment: 'plain' | 'error'): boolean =>
    treatment === 'error' ? this.redactText(text) === text : text.length < shortestPart || !this.hasCredential(text)

  #matchesCredential(text: string): boolean {
    if (this.#configured.parts.find(text) !== undefined) return true
    if (this.#upstream.authorize !== undefined)
      for (const { parts } of this.#recentSecrets()) if (parts.find(text) !== undefined) return true
    return false
  }

  #recentSecrets(): readonly Secrets[] {
    if (this.#upstream.authorize === undefined) return this.#recent
    const times = credentialCount(this.#upstream)
    if (times !== this.#recentCount) {
      this.#recentCount = times
      const reusable = [...recentCredentials(this.#upstream)].filter(({ name, value }) => isReusable(name, value))
      this.#recent = reusable.slice(-maxRecentSecrets).map(secretsOf)
    }
    return this.#recent
  }
}

const dataLine = /^data:/gm
/** A line of server-sent events: a field name or comment with other colon, if any, and the value. */
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

/** Returns the upstream's redactor. The first call creates it. */
export function redactorOf(upstream: Upstream): Redactor {
  let redactor = redactors.get(upstream)
  if (redactor === undefined) {
    redactor = new Redactor(upstream)
    redactors.set(upstream, redactor)
  }
  return redactor
}

/**
 * Returns a text other than content without the upstream's credentials and addresses: in whole and in part, in all spellings of secrets.ts,
 * and in JSON escapes.
 */
export const redact = (text: string, upstream: Upstream): string => redactorOf(upstream).redactText(text)

/** Returns headers of a call for display: configured values are masked, except those of public headers. */
export const maskHeaders = (
  headers: Readonly<Record<string, string>>,
  upstream: Upstream,
): Readonly<Record<string, string>> => {
  const own = new Set(configuredHeaders(upstream).map(([name]) => name.toLowerCase()))
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, own.has(name) && isSecret(name) ? '***' : value]),
  )
}

/** How strings within a JSON value are treated. */
type Treatment =
  /** Credentials are removed. */
  | 'plain'
  /** An error message of the upstream: credentials, header values and addresses are removed. */
  | 'error'
  /** A model's output: it is left unchanged. */
  | 'content'

/** Returns the treatment of a string under a member of this kind, within a value of treatment `outer`. */
const textTreatment = (outer: Treatment, kind: MemberKind | undefined): Treatment =>
  outer !== 'plain' || kind === undefined ? outer : kind === 'content' || kind === 'value' ? 'content' : 'error'

/** Returns the treatment of an object under a member of this kind, within a value of treatment `outer`. */
const objectTreatment = (outer: Treatment, kind: MemberKind | undefined): Treatment =>
  outer !== 'plain' ? outer : kind === 'error' ? 'error' : kind === 'value' ? 'content' : 'plain'

/** Returns whether a string may pass unchanged. */
type IsClean = (text: string, treatment: 'plain' | 'error') => boolean

/** Returns whether all strings of a value may pass unchanged, member names included. */
function isCleanJson(value: Json, isClean: IsClean, outer: Treatment, kind?: MemberKind): boolean {
  if (typeof value === 'string') {
    const treatment = textTreatment(outer, kind)
    return treatment === 'content' || isClean(value, treatment)
  }
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) {
    // Vectors are the longest lists. `value[0]` is also used for lists of objects, so V8 would box each number; Reflect.get avoids that.
    if (kind === 'content' && outer !== 'error' && typeof Reflect.get(value, 0) === 'number') return true
    for (let at = 0; at < value.length; at++) if (!isCleanJson(value[at] as Json, isClean, outer, kind)) return false
    return true
  }
  const inner = objectTreatment(outer, kind)
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
  /** The next string is a member name. */
  atName: boolean
  /** Kind of the current member; in a list, the kind of the list itself. */
  kind: MemberKind | undefined
}

/**
 * Returns JSON text with some strings replaced; every other byte stays. The text must be valid JSON.
 *
 * @param replace returns the same string if nothing is to be replaced. Member names are passed as `plain`
 */
function replaceStrings(
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
              : textTreatment(frame.treatment, frame.kind)
        const replaced = treatment === 'content' ? value : replace(value, treatment)
        if (replaced !== value) {
          out += text.slice(from, at) + JSON.stringify(replaced)
          from = end
        }
        at = end - 1
        break
      }
      case '{':
        frames.push(frame)
        frame = {
          treatment: objectTreatment(frame.treatment, frame.kind),
          isObject: true,
          atName: true,
          kind: undefined,
        }
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
 * Content of a member in an upstream's JSON, by other name. Members without an entry are searched for credentials, so an unknown field is
 * never a leak.
 *
 * - `content`: the string is a model's output or a seal, and passes unchanged.
 * - `value`: everything below is a model's output, names included: arguments of tool calls.
 * - `error`: everything below describes a failure. Neither credentials nor addresses pass.
 * - `error-text`: like `error` if the value is a string. Formats use these names for other objects too (`message` in chat).
 */
type MemberKind = 'content' | 'value' | 'error' | 'error-text'

const names: { readonly [K in MemberKind]: string } = {
  content: `content text delta arguments partial_json reasoning reasoning_content thinking refusal transcript token tokens
    data b64_json embedding values float audio signature thought_signature encrypted_content obfuscation p output_text`,
  value: 'input args',
  error: 'error errors last_error detail details status_details incomplete_details failure warnings',
  'error-text': `message msg reason error_message status_message block_reason_message finish_message failure_reason`,
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** Returns a name in the cases of OpenAI and Anthropic, of Google, and of AWS and .NET. */
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
    .filter(([, other]) => other === kind)
    .map(([name]) => name)
    .join('|')
const errorMember = new RegExp(
  `"(?:(?:${alternatives('error')})"\\s*:\\s*[^n\\s]|(?:${alternatives('error-text')})"\\s*:\\s*["[])|\\\\u00[4-7]`,
)

/**
 * Returns whether JSON text may contain an error member: a name of one with a value other than null, or an escaped name. An `error-text`
 * counts only if its value is a string or a list.
 */
export const mayHaveErrorMember = (json: string): boolean => errorMember.test(json)
