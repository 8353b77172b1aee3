import { newId } from '../../../base/bytes.ts'
import { GatewayError } from '../../../base/errors.ts'
import { isObject, type JsonObject, scanJson } from '../../../base/json/json.ts'
import type { RequestBody } from '../../../formats/request-body.ts'
import { modelPlaces, type PlaceSpan, visitValue } from '../../../formats/shared/model-places.ts'
import { type Form, type FormPart, fileBytes } from '../../multipart/form.ts'
import { isMultipart, readForm } from '../../multipart/read-form.ts'
import type { RoutedCall } from '../../route.ts'
import { readParameters, single } from '../handshake.ts'
import { parse } from '../messages.ts'

/** A client's request for a call over WebRTC. */
export interface CallOffer {
  readonly model: string
  /** The session as a body `{"session": …}`, in which models and references have the paths of other requests for sessions. */
  readonly request: RequestBody
  /** Writes the offer and the session, with the upstream's name of the model, for an upstream. */
  write(upstreamModel: string): { readonly body: string; readonly headers: Readonly<Record<string, string>> }
}

/** A part of the request for the upstream: its header lines and its text. */
type TextPart = Pick<FormPart, 'head'> & { readonly text: string }

interface OfferParts {
  readonly sdp: TextPart
  readonly session: TextPart
}

/** Reads an offer from a form (`sdp` and `session`), or from SDP alone, whose URL names the model. Rejects with a GatewayError. */
export async function readOffer(call: RoutedCall): Promise<CallOffer> {
  const { sdp, session } = isMultipart(call.inbound) ? await readParts(call) : await readSdp(call)
  if (sdp.text.trim() === '')
    throw new GatewayError('invalid_request', 'sdp: the offer of the WebRTC connection is required.', { param: 'sdp' })
  const request = requestOf(session.text)
  const { model, spans } = readModel(request)
  return {
    model,
    request,
    write(upstreamModel) {
      const text = replaceSpans(request.text, spans, JSON.stringify(upstreamModel)).slice(prefix.length, -1)
      const boundary = newId('modelgate-')
      const parts = [sdp, { ...session, text }].map((part) => `--${boundary}\r\n${part.head}\r\n\r\n${part.text}\r\n`)
      return {
        body: `${parts.join('')}--${boundary}--\r\n`,
        headers: { 'content-type': `multipart/form-data; boundary=${boundary}`, accept: 'application/sdp' },
      }
    },
  }
}

async function readSdp({ inbound, shared }: RoutedCall): Promise<OfferParts> {
  const type = inbound.header('content-type')?.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (type !== 'application/sdp')
    throw new GatewayError(
      'unsupported_media_type',
      `Unsupported content type '${type.slice(0, 100)}': send 'multipart/form-data' with the fields 'sdp' and 'session', or 'application/sdp' with the model in the query (?model=<name>).`,
    )
  const model = single(readParameters(inbound, ['model']), 'model')
  if (model === undefined || model === '')
    throw new GatewayError(
      'invalid_request',
      'You must provide a model parameter: ?model=<name>. Or send a form with the fields sdp and session.',
      { param: 'model' },
    )
  const text = decodeText(await inbound.read(shared.limits.bodyBytes), 'sdp')
  const session = JSON.stringify({ type: 'realtime', model })
  return {
    sdp: { head: headOf('sdp', 'application/sdp'), text },
    session: { head: headOf('session', 'application/json'), text: session },
  }
}

const headOf = (name: string, type: string): string =>
  `Content-Disposition: form-data; name="${name}"\r\nContent-Type: ${type}`

/** The form has no field that decides anything: both are checked after they have been read. */
const form = { types: { sdp: 'text', session: 'text' }, validate() {} } as const

async function readParts({ inbound, shared }: RoutedCall): Promise<OfferParts> {
  readParameters(inbound, [])
  const read = await readForm(inbound, form, shared, undefined)
  try {
    const [sdp, session] = [await textPart(read, 'sdp'), await textPart(read, 'session')]
    const other = read.parts.find(({ name }) => name !== 'sdp' && name !== 'session')
    if (other !== undefined) {
      const name = other.name.slice(0, 100)
      throw new GatewayError('invalid_request', `Unknown field '${name}': the form has the fields sdp and session.`, {
        param: name,
      })
    }
    return { sdp, session }
  } finally {
    read.spool.close()
  }
}

/** Returns the part of a form with this name. Browsers send a Blob as a file. */
async function textPart(read: Form, name: string): Promise<TextPart> {
  const part = read.parts.find((one) => one.name === name)
  if (part === undefined)
    throw new GatewayError('invalid_request', `${name}: the form must have this field.`, { param: name })
  const { head, text = '', file } = part
  return { head, text: file === undefined ? text : decodeText(await fileBytes(read, file), name) }
}

function decodeText(bytes: Uint8Array, param: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new GatewayError('invalid_request', `Invalid '${param}': it is not valid UTF-8.`, { param })
  }
}

const prefix = '{"session":'

function requestOf(session: string): RequestBody {
  const value = parse(session)
  if (!isObject(value))
    throw new GatewayError(
      'invalid_request',
      'session: expected a JSON object, such as {"type":"realtime","model":…}.',
      {
        param: 'session',
      },
    )
  checkSessionType(value, 'session.type')
  const text = `${prefix}${session}}`
  const body = { session: value }
  const { members } = scanJson(text, Number.POSITIVE_INFINITY)
  return { bytes: new TextEncoder().encode(text), text, members, value: body, fields: body }
}

/** Rejects sessions of other types, which name another model than `model`. Throws GatewayError. */
export function checkSessionType({ type }: JsonObject, param: string): void {
  if (type !== undefined && type !== 'realtime')
    throw new GatewayError('invalid_request', `${param}: a call has sessions of the type 'realtime' only.`, { param })
}

const ownPlaces = modelPlaces({ names: ['session.model'] })

/** Finds the session's model. Rejects duplicate members and other spellings, of which the upstream might read another name. */
function readModel({ text }: RequestBody): { readonly model: string; readonly spans: readonly PlaceSpan[] } {
  const spans: PlaceSpan[] = []
  let model = ''
  visitValue(text, ownPlaces.root, {
    name(name, _path, span) {
      model = name
      if (span !== undefined) spans.push(span)
    },
    choice() {},
  })
  const [span] = spans
  if (model === '' || span === undefined || spans.length > 1 || text[span.start] !== '"')
    throw new GatewayError('invalid_request', 'session.model: expected the name of the model of the call.', {
      param: 'session.model',
    })
  return { model, spans }
}

function replaceSpans(text: string, spans: readonly PlaceSpan[], replacement: string): string {
  let out = ''
  let from = 0
  for (const { start, end } of spans) {
    out += text.slice(from, start) + replacement
    from = end
  }
  return out + text.slice(from)
}
