import { lazy } from '../base/async.ts'
import { GatewayError, tooManyValues } from '../base/errors.ts'
import { isObject } from '../base/json/object.ts'
import { type Member, nestsDeeper, scanJson } from '../base/json/scan.ts'
import type { Json, JsonObject } from '../base/json/types.ts'
import type { Codec } from '../formats/codec.ts'
import type { ReferenceScheme } from '../formats/references/places.ts'
import type { RequestBody } from '../formats/request-body.ts'
import type { Inbound } from '../http/inbound.ts'
import type { RequiredHeader } from '../operations/route.ts'

const decoder = new TextDecoder('utf-8', { fatal: true })

/** What a path says of a request. */
export interface FromPath {
  readonly model: string
  readonly stream: boolean
  /** What the body may write in front of the model's name (see Codec). */
  readonly modelPrefix: string | undefined
}

/** Smaller bodies are read whole in the time that an outline would take. */
const largeBytes = 32_768

/**
 * Larger bodies are read piece by piece, each piece in a turn of its own: they can take some hundred milliseconds, and others wait for
 * one piece at most.
 */
const hugeBytes = 1 << 20

/** What reads large bodies. */
export const outliner = lazy(() => import('./large-body.ts').then(({ lazyBody }) => lazyBody))

/**
 * Reads and checks a JSON body: content type (415), size (413), UTF-8, nesting and syntax (400), then the format's own
 * schema. The depth is scanned on the text first: parsers take millions of levels that everything after them dies of.
 *
 * @param fromPath what the path says in place of the body, for formats that have it there
 * @param passes whether a request for a model is likely to pass as it is: a large body is then read in outline, and whole only for
 *   who asks for all of it. Absent: somebody will
 * @param scheme how the body refers to stored state. A body that does is read whole
 */
export async function readJsonBody(
  inbound: Inbound,
  validation: Codec['validateRequest'] | Promise<Codec['validateRequest']>,
  limits: { bodyBytes: number; depth: number; values: number },
  fromPath?: FromPath,
  passes?: (model: string) => boolean,
  scheme?: ReferenceScheme,
): Promise<RequestBody> {
  const type = inbound.header('content-type')
  if (type !== undefined && !isJson(type))
    throw new GatewayError(
      'unsupported_media_type',
      `Unsupported content type '${type.slice(0, 100)}': send 'application/json'.`,
    )
  const bytes = await inbound.read(limits.bodyBytes)
  const huge = bytes.length >= hugeBytes
  if (huge) await turnOf(inbound)
  if (bytes.length === 0) throw new GatewayError('invalid_request', 'The request has no body: send a JSON object.')
  const validate = validation instanceof Promise ? await validation : validation
  const complete = (body: Json): Json => (fromPath === undefined ? body : withPath(body, fromPath))
  const { model, modelPrefix } = fromPath ?? {}
  if (passes !== undefined && bytes.length >= largeBytes) {
    const loaded = outliner()
    const outlinedBody = loaded instanceof Promise ? await loaded : loaded
    const { depth: maxDepth, values: maxValues } = limits
    const outlined = outlinedBody(bytes, {
      maxDepth,
      maxValues,
      complete,
      validate,
      model,
      modelPrefix,
      passes,
      scheme,
    })
    if (outlined !== undefined) return outlined
    if (huge) await turnOf(inbound)
  }
  let text: string
  try {
    text = decoder.decode(bytes)
  } catch {
    throw new GatewayError('invalid_request', 'The request body is not valid UTF-8.')
  }
  // In the same turn: both together take no longer than the parser. Where the members of a short body stand, hardly anybody asks.
  const short = text.length < largeBytes && text.length <= limits.values
  const scan = short ? undefined : scanJson(text, limits.depth, limits.values)
  const { tooDeep, tooMany } = scan ?? { tooDeep: nestsDeeper(text, limits.depth), tooMany: false }
  if (tooDeep) throw new GatewayError('invalid_request', `The request body nests deeper than ${limits.depth} levels.`)
  if (tooMany) throw tooManyValues(limits.values)
  if (huge) await turnOf(inbound)
  let body: Json
  try {
    body = JSON.parse(text) as Json
  } catch {
    throw new GatewayError('invalid_request', 'We could not parse the JSON body of your request: it is not valid JSON.')
  }
  if (huge) await turnOf(inbound)
  const value = validate(complete(body))
  // A byte order mark is gone from the text; sending the bytes on would bring it back.
  const sent = bytes[0] === 0xef ? new TextEncoder().encode(text) : bytes
  return new ParsedBody(sent, text, value, modelPrefix, scan?.members)
}

class ParsedBody implements RequestBody {
  readonly bytes: Uint8Array
  readonly text: string
  readonly value: JsonObject
  readonly outline = undefined
  readonly modelPrefix: string | undefined
  #members: readonly Member[] | undefined

  constructor(
    bytes: Uint8Array,
    text: string,
    value: JsonObject,
    modelPrefix: string | undefined,
    members: readonly Member[] | undefined,
  ) {
    this.bytes = bytes
    this.text = text
    this.value = value
    this.modelPrefix = modelPrefix
    this.#members = members
  }

  get members(): readonly Member[] {
    this.#members ??= scanJson(this.text, Number.POSITIVE_INFINITY).members
    return this.#members
  }
}

/** Not by a promise that calls share: on some runtimes those belong to the request that made them. */
const turnOf = (inbound: Inbound): Promise<void> => inbound.turn?.() ?? new Promise((resolve) => setTimeout(resolve, 0))

/** What the path says, put where every format's codec looks for it. The path was checked; a body that says otherwise is refused. */
function withPath(body: Json, { model, stream, modelPrefix = '' }: FromPath): Json {
  if (!isObject(body)) return body
  const own = body.model
  if (own !== undefined && own !== null && own !== model && own !== modelPrefix + model)
    throw new GatewayError('invalid_request', `model: the body names another model than the path ('${model}').`, {
      param: 'model',
    })
  if (Object.hasOwn(body, 'stream'))
    throw new GatewayError(
      'invalid_request',
      'Invalid JSON payload received. Unknown name "stream": Cannot find field.',
      {
        param: 'stream',
      },
    )
  return { ...body, model, stream }
}

function isJson(contentType: string): boolean {
  if (contentType === 'application/json') return true
  const type = contentType.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  return type === 'application/json' || type.endsWith('+json')
}

/** The last one that was found to be a date. */
let lastDate: string | undefined

/** Checks a header that the route insists on; throws a 400 that names it. */
export function checkRequiredHeader(inbound: Inbound, required: RequiredHeader): void {
  const [first] = required.names
  const name = required.names.find((candidate) => inbound.header(candidate) !== undefined)
  if (name === undefined)
    throw new GatewayError('invalid_request', `${required.names.join(' or ')}: header is required`, { param: first })
  const value = inbound.header(name) ?? ''
  // Nearly all clients send the same.
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
