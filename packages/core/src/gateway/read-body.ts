import type { BodySource } from '../accounting/call-capture.ts'
import { lazy } from '../base/async.ts'
import { GatewayError, tooManyValues } from '../base/errors.ts'
import { editJson, spliceJson } from '../base/json/edit.ts'
import { isObject, type Json, type JsonObject, type Member, nestsDeeper, scanJson } from '../base/json/json.ts'
import { hasExactNumbers, parseExact } from '../base/json/parse.ts'
import type { RequestChanges } from '../formats/adaptations/adaptation.ts'
import type { ClientCodec } from '../formats/codec.ts'
import type { Loss } from '../formats/ir.ts'
import type { ReferenceScheme } from '../formats/references/places.ts'
import type { RequestBody } from '../formats/request-body.ts'
import type { RequiredHeader } from '../operations/route.ts'

const decoder = new TextDecoder('utf-8', { fatal: true })

/** Fields of a request that the path states. */
export interface PathFields {
  readonly model: string
  readonly stream: boolean
  /** A prefix that the body may put before the model's name (see ClientCodec). */
  readonly modelPrefix: string | undefined
  /** See ClientWireCodec. */
  readonly unknownMember?: ((name: string) => string) | undefined
}

/** How a body is read. */
export interface BodyReading {
  /** See `Route`. Default: another content type than JSON is rejected. */
  readonly ignoresContentType?: boolean | undefined
  /** Fields that the path states in place of the body. */
  readonly fromPath?: PathFields | undefined
  /** Returns changes to the body before it is checked; undefined for none. */
  readonly rewrite?: ((body: JsonObject) => RequestChanges | undefined) | undefined
  /**
   * Whether a request for a model probably passes unchanged: a large body is then read in outline, and parsed in full only on demand.
   * Default: false
   */
  readonly passes?: ((model: string) => boolean) | undefined
  /** The scheme of references to stored state. A body with references is parsed in full. */
  readonly scheme?: ReferenceScheme | undefined
}

/** Parsing a smaller body takes no longer than its outline. */
const largeBytes = 32_768

/**
 * Larger bodies are parsed in steps, each in its own turn of the event loop. They can take some hundred milliseconds; other calls wait
 * for one step at most.
 */
const hugeBytes = 1 << 20

/** Loads the parser of large bodies. */
export const loadLazyBody = lazy(() => import('./large-body.ts').then(({ lazyBody }) => lazyBody))

/**
 * Reads and checks a JSON body: content type (415), size (413), UTF-8, nesting and syntax (400), then the format's own
 * schema. The depth is scanned on the text first: parsers accept millions of levels, which everything after them fails on.
 */
export async function readJsonBody(
  inbound: BodySource,
  validation: ClientCodec['validateRequest'] | Promise<ClientCodec['validateRequest']>,
  limits: { bodyBytes: number; depth: number; values: number },
  { ignoresContentType, fromPath, rewrite, passes, scheme }: BodyReading,
): Promise<RequestBody> {
  const type = inbound.header('content-type')
  if (type !== undefined && ignoresContentType !== true && !isJson(type))
    throw new GatewayError(
      'unsupported_media_type',
      `Unsupported content type '${type.slice(0, 100)}': send 'application/json'.`,
    )
  const bytes = await inbound.read(limits.bodyBytes)
  const huge = bytes.length >= hugeBytes
  if (huge) await nextTurn(inbound)
  if (bytes.length === 0) throw new GatewayError('invalid_request', 'The request has no body: send a JSON object.')
  const validate = validation instanceof Promise ? await validation : validation
  const complete = (body: Json): Json => (fromPath === undefined ? body : addPathFields(body, fromPath))
  const { model, modelPrefix } = fromPath ?? {}
  if (passes !== undefined && bytes.length >= largeBytes) {
    const loaded = loadLazyBody()
    const lazyBody = loaded instanceof Promise ? await loaded : loaded
    const { depth: maxDepth, values: maxValues } = limits
    const outlined = lazyBody(bytes, {
      maxDepth,
      maxValues,
      complete,
      validate,
      model,
      modelPrefix,
      likelyPasses: passes,
      scheme,
    })
    if (outlined !== undefined) return outlined
    if (huge) await nextTurn(inbound)
  }
  let text: string
  try {
    text = decoder.decode(bytes)
  } catch {
    throw new GatewayError('invalid_request', 'The request body is not valid UTF-8.')
  }
  // Scanning takes no longer than parsing, so it shares the turn. Few calls need the members of a short body.
  const short = text.length < largeBytes && text.length <= limits.values
  const scan = short ? undefined : scanJson(text, limits.depth, limits.values)
  const { tooDeep, tooMany } = scan ?? { tooDeep: nestsDeeper(text, limits.depth), tooMany: false }
  if (tooDeep)
    throw new GatewayError('invalid_request', `The request body is nested deeper than ${limits.depth} levels.`)
  if (tooMany) throw tooManyValues(limits.values)
  if (huge) await nextTurn(inbound)
  let body: Json
  try {
    body = JSON.parse(text) as Json
  } catch {
    throw new GatewayError('invalid_request', 'We could not parse the JSON body of your request: it is not valid JSON.')
  }
  if (huge) await nextTurn(inbound)
  if (rewrite !== undefined && isObject(body)) {
    const changes = rewrite(hasExactNumbers(text) ? (parseExact(text) as JsonObject) : body)
    if (changes !== undefined) return rewrittenBody(text, scan?.members, body, changes, validate)
  }
  const value = validate(complete(body))
  // The text has no byte order mark; the received bytes would send it on.
  const sent = bytes[0] === 0xef ? new TextEncoder().encode(text) : bytes
  return new ParsedBody(sent, text, value, modelPrefix, scan?.members)
}

/** Returns a body with its changes: from here on, it is one of the path that it belongs to. All other members keep their bytes. */
function rewrittenBody(
  text: string,
  scanned: readonly Member[] | undefined,
  body: JsonObject,
  { set, drop, losses }: RequestChanges,
  validate: ClientCodec['validateRequest'],
): RequestBody {
  const members = scanned ?? scanJson(text, Number.POSITIVE_INFINITY).members
  const changed = drop.some((name) => Object.hasOwn(body, name))
    ? editJson(text, members, set, drop)
    : spliceJson(text, members, set)
  const value: JsonObject = { ...body, ...set }
  for (const name of drop) delete value[name]
  return new ParsedBody(new TextEncoder().encode(changed), changed, validate(value), undefined, undefined, losses)
}

class ParsedBody implements RequestBody {
  readonly bytes: Uint8Array
  readonly value: JsonObject
  readonly fields: JsonObject
  readonly outline = undefined
  readonly modelPrefix: string | undefined
  readonly losses: readonly Loss[] | undefined
  #text: string | undefined
  #members: readonly Member[] | undefined

  constructor(
    bytes: Uint8Array,
    text: string,
    value: JsonObject,
    modelPrefix: string | undefined,
    members: readonly Member[] | undefined,
    losses?: readonly Loss[],
  ) {
    this.bytes = bytes
    this.#text = text
    this.value = value
    this.fields = value
    this.modelPrefix = modelPrefix
    this.losses = losses
    this.#members = members
  }

  get text(): string {
    this.#text ??= decoder.decode(this.bytes)
    return this.#text
  }

  releaseText(): void {
    if (this.bytes.length < largeBytes) return
    this.#text = undefined
    // Their keys are slices of the text.
    this.#members = undefined
  }

  get members(): readonly Member[] {
    this.#members ??= scanJson(this.text, Number.POSITIVE_INFINITY).members
    return this.#members
  }
}

/** Waits for a turn of the event loop. Calls must not share a promise: on some runtimes it belongs to the request that made it. */
const nextTurn = (inbound: BodySource): Promise<void> =>
  inbound.turn?.() ?? new Promise((resolve) => setTimeout(resolve, 0))

/** Puts the path's fields where every codec reads them. Rejects a body that contradicts the path, whose model has been checked. */
function addPathFields(body: Json, { model, stream, modelPrefix = '', unknownMember }: PathFields): Json {
  if (!isObject(body)) return body
  const written = body.model
  if (written !== undefined && written !== null && written !== model && written !== modelPrefix + model)
    throw new GatewayError(
      'invalid_request',
      `model: the body and the path name different models (path: '${model}').`,
      {
        param: 'model',
      },
    )
  if (Object.hasOwn(body, 'stream') && (unknownMember !== undefined || body.stream !== stream))
    throw new GatewayError(
      'invalid_request',
      unknownMember?.('stream') ??
        `stream: the path states ${stream}, and the body another value. Use the path for what you want, and leave out 'stream'.`,
      { param: 'stream' },
    )
  return { ...body, model, stream }
}

function isJson(contentType: string): boolean {
  if (contentType === 'application/json') return true
  const type = contentType.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  return type === 'application/json' || type.endsWith('+json')
}

/** The last header value that was a valid date. */
let lastDate: string | undefined

/** Checks a header that the route requires. Throws a 400 that names it. */
export function checkRequiredHeader(inbound: BodySource, required: RequiredHeader): void {
  const [first] = required.names
  const name = required.names.find((candidate) => inbound.header(candidate) !== undefined)
  if (name === undefined)
    throw new GatewayError('invalid_request', `${required.names.join(' or ')}: header is required`, { param: first })
  const value = inbound.header(name) ?? ''
  // Nearly all clients send the same date.
  if (value === lastDate) return
  if (!isDate(value))
    throw new GatewayError('invalid_request', `${name}: header must be a date such as '2023-06-01'`, { param: name })
  lastDate = value
}

function isDate(text: string): boolean {
  const [year, month, day, ...rest] = text.split('-')
  const digits = (part: string | undefined, length: number): boolean =>
    part?.length === length && [...part].every((char) => char >= '0' && char <= '9')
  return rest.length === 0 && digits(year, 4) && digits(month, 2) && digits(day, 2) && !Number.isNaN(Date.parse(text))
}
