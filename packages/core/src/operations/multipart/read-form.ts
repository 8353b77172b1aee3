import type { BodySource } from '../../accounting/call-capture.ts'
import { ignoreRejection, isThenable, runSilently, settleWithin } from '../../base/async.ts'
import { toBase64 } from '../../base/bytes.ts'
import { observe, typeNameOf } from '../../base/callbacks.ts'
import { GatewayError } from '../../base/errors.ts'
import type { Json, JsonObject } from '../../base/json/json.ts'
import type { GatewayContext } from '../../calls/call.ts'
import type { Logger } from '../../config/config.ts'
import { setOwn } from '../../formats/shared/json-fields.ts'
import type { Inbound } from '../../http/inbound.ts'
import { memorySpool, type Spool } from '../../http/spool.ts'
import { type FieldTypes, type Form, type FormFile, fileBytes, formValue, withModel } from './form.ts'
import { parseForm } from './parse-form.ts'

/** Multipart bodies of a dialect's clients. */
export interface FormDialect {
  readonly types: FieldTypes
  /** Checks the form as an equivalent JSON body. Throws GatewayError with `param`. */
  validate(body: JsonObject): void
}

export const isMultipart = (inbound: Inbound): boolean =>
  (inbound.header('content-type') ?? '').trimStart().toLowerCase().startsWith('multipart/form-data')

/** Returns the error for a route that accepts only uploads. */
export const uploadRequired = (inbound: Inbound): GatewayError =>
  new GatewayError(
    'unsupported_media_type',
    `Unsupported content type '${(inbound.header('content-type') ?? '').slice(0, 100)}': send 'multipart/form-data'.`,
  )

/**
 * Reads and checks an upload. Fields are held in memory. Files go to a spool, so that memory use doesn't depend on their size:
 *
 *    request body --> parseForm --> fields: checked by the schema of the operation
 *                              `--> files: spool (memory, or the host's storage) --> encodeForm --> upstream
 *
 * The caller must close the spool. On failure it is already closed.
 *
 * @param pathModel the model that the path names, in place of the form's
 * @throws GatewayError 413 for the size; 400 for invalid syntax and invalid fields
 */
export async function readForm(
  inbound: BodySource,
  { types, validate }: FormDialect,
  { limits, openSpool, logger }: Pick<GatewayContext, 'limits' | 'openSpool' | 'logger'>,
  pathModel: string | undefined,
): Promise<Form> {
  const open = () =>
    openSpool === undefined ? inbound.openSpool?.() : openHostSpool(openSpool, limits.callbackMs, logger)
  const spooled = inbound.stream === undefined ? undefined : open()
  const limit = spooled === undefined ? Math.min(limits.uploadBytes, limits.bodyBytes) : limits.uploadBytes
  const spool = spooled ?? memorySpool()
  try {
    const source = inbound.stream?.(limit) ?? bufferedBody(inbound, limit)
    const received = await parseForm(source, inbound.header('content-type') ?? '', spool)
    const parts = pathModel === undefined ? received : withModel(received, pathModel)
    const value = formValue(parts, types)
    validate(value)
    return { parts, spool, value }
  } catch (error) {
    spool.close()
    throw error
  }
}

async function* bufferedBody(inbound: BodySource, limit: number): AsyncGenerator<Uint8Array> {
  yield await inbound.read(limit)
}

/** Maximum size of files in a JSON body. Google accepts bodies of 20 MB. */
const inlineBytes = 15 * 1024 * 1024

/** Returns the form's value with the bytes of its files as base64 in `data`, for upstreams of other dialects. */
export async function inlineFiles(form: Form): Promise<JsonObject> {
  const files = form.parts.flatMap(({ name, file }) => (file === undefined ? [] : [{ name, file }]))
  const size = files.reduce((sum, { file }) => sum + file.end - file.start, 0)
  if (size > inlineBytes)
    throw new GatewayError(
      'request_too_large',
      `The requested model accepts files of at most ${inlineBytes} bytes; these have ${size}.`,
      files[0] === undefined ? {} : { param: files[0].name },
    )
  const left = [...files]
  const load = async (value: Json | undefined, file: FormFile): Promise<Json> => ({
    ...(value as JsonObject),
    data: toBase64(await fileBytes(form, file)),
  })
  const out: JsonObject = {}
  for (const [key, value] of Object.entries(form.value)) {
    const list: Json[] = []
    for (const one of Array.isArray(value) ? value : [value]) {
      const next = isFile(one) ? nextFile(left, key) : undefined
      list.push(next === undefined ? one : await load(one, next))
    }
    setOwn(out, key, Array.isArray(value) ? list : (list[0] ?? null))
  }
  return out
}

const isFile = (value: Json): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && typeof value.filename === 'string'

/** Removes and returns the next file of a field. They appear in its value in the order of the form. */
function nextFile(left: { name: string; file: FormFile }[], key: string): FormFile | undefined {
  const at = left.findIndex(({ name }) => name.replace(/\[\d*\]$/, '') === key)
  return at < 0 ? undefined : left.splice(at, 1)[0]?.file
}

/**
 * Opens a host's spool. Each write, and each piece that is read, must complete within `ms` or fails the call. Errors of `close` are logged.
 * Throws TypeError if the host returns no spool.
 */
function openHostSpool(open: () => Spool, ms: number, logger: Logger): Spool {
  const spool: unknown = open()
  if (!isSpool(spool)) {
    ignoreRejection(spool)
    throw new TypeError(`spool returned ${typeNameOf(spool)}: return an object with write, read and close`)
  }
  return {
    write(chunk) {
      const written: unknown = spool.write(chunk)
      return isThenable(written) ? settleWithin(written, { name: 'spool.write', ms }).then(() => {}) : undefined
    },
    read: (start, end) => piecesOf(() => spool.read(start, end), ms),
    close: () => observe(logger, 'spool.close', () => spool.close()),
  }
}

const isSpool = (value: unknown): value is Spool =>
  typeof value === 'object' &&
  value !== null &&
  (['write', 'read', 'close'] as const).every((name) => typeof (value as Partial<Spool>)[name] === 'function')

async function* piecesOf(read: () => AsyncIterable<Uint8Array>, ms: number): AsyncGenerator<Uint8Array> {
  let source: AsyncIterator<Uint8Array> | undefined
  try {
    source = read()[Symbol.asyncIterator]()
    for (;;) {
      const { done, value } = await settleWithin(source.next(), { name: 'spool.read', ms })
      if (done === true) return
      if (!(value instanceof Uint8Array)) throw new TypeError(`spool.read yielded ${typeNameOf(value)}: yield bytes`)
      yield value
    }
  } catch (cause) {
    // An internal error, so that it does not look like a failure of the upstream.
    throw new GatewayError('internal', 'The gateway failed to read the upload.', { cause })
  } finally {
    runSilently(() => source?.return?.())
  }
}
