/*! Uploads are parsed with multipasta, (c) Tim Smart, MIT License: https://github.com/tim-smart/multipasta */
import { type MultipartError, make, type PartInfo } from 'multipasta'
import { GatewayError } from '../../base/errors.ts'
import type { Spool } from '../../http/spool.ts'
import type { FormPart } from './form.ts'

/** Bytes that all fields of an upload may have together; files are not among them. */
const fieldBytes = 4 * 1024 * 1024
const maxParts = 256
const dash = 45

const malformed = (why: string): GatewayError =>
  new GatewayError('invalid_request', `The multipart body is malformed: ${why}.`)

/**
 * Reads an upload to its end: fields into memory, files into the spool. Throws GatewayError `invalid_request` for a body that
 * is cut off or broken, `request_too_large` for fields beyond all measure, and what the source throws.
 */
export async function parseForm(
  source: AsyncIterable<Uint8Array>,
  contentType: string,
  spool: Spool,
): Promise<readonly FormPart[]> {
  const reader = createReader(contentType)
  const drain = async (): Promise<void> => {
    for (const chunk of reader.takeFileBytes()) {
      const written = spool.write(chunk)
      if (written !== undefined) await written
    }
  }
  for await (const chunk of source) {
    reader.push(chunk)
    await drain()
  }
  reader.end()
  await drain()
  return reader.parts
}

/** The parser with its callbacks gathered: bytes in, parts out. Throws for what cannot be read. */
function createReader(contentType: string) {
  const parts: FormPart[] = []
  let fileBytes: Uint8Array[] = []
  let spooled = 0
  let fieldSize = 0
  let failure: GatewayError | undefined
  let done = false
  let open = false
  let held: Uint8Array | undefined

  const fail = (error: GatewayError): void => {
    failure ??= error
  }
  const begin = (info: PartInfo): ((chunk: Uint8Array | null) => void) => {
    // What follows the closing boundary is no part of the form.
    if (done) return ignore
    if (open) fail(malformed('a part has no end'))
    open = true
    const head = readHead(info)
    if (head === undefined) {
      fail(malformed('a part has no name, or one that can be read in two ways'))
      return ignore
    }
    const { name, filename } = head
    return filename === undefined ? fieldReader(name, head.lines) : fileReader(name, filename, head)
  }
  const fieldReader = (name: string, lines: string) => {
    const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
    let text = ''
    return (chunk: Uint8Array | null): void => {
      fieldSize += chunk?.length ?? 0
      if (fieldSize > fieldBytes) {
        fail(
          new GatewayError('request_too_large', `${name}: the fields are larger than ${fieldBytes} bytes.`, {
            param: name,
          }),
        )
        return
      }
      try {
        text += chunk === null ? decoder.decode() : decoder.decode(chunk, { stream: true })
      } catch {
        fail(new GatewayError('invalid_request', `Invalid '${name}': it is not valid UTF-8.`, { param: name }))
        return
      }
      if (chunk === null) close({ name, head: lines, text })
    }
  }
  const fileReader = (name: string, filename: string, { lines, mediaType }: Head) => {
    const start = spooled
    return (chunk: Uint8Array | null): void => {
      if (chunk === null) {
        close({ name, head: lines, file: { filename, mediaType, start, end: spooled } })
      } else {
        fileBytes.push(chunk)
        spooled += chunk.length
      }
    }
  }
  const close = (part: FormPart): void => {
    if (done) return
    if (!open) fail(malformed('a part has no header'))
    open = false
    parts.push(part)
  }
  const parser = make({
    headers: { 'content-type': contentType },
    maxParts,
    // Every part is taken in pieces: what is a file is decided here.
    isFile: () => true,
    onFile: begin,
    onField: () => {
      if (!done) fail(malformed('a part has no body'))
    },
    onError: (error) => {
      if (!done) fail(errorOf(error))
    },
    onDone: () => {
      done = true
    },
  })
  const write = (chunk: Uint8Array): void => {
    if (chunk.length > 0 && !done) parser.write(chunk)
    if (failure !== undefined) throw failure
  }

  return {
    parts,
    /** The bytes of files that came since the last call. */
    takeFileBytes(): readonly Uint8Array[] {
      const taken = fileBytes
      fileBytes = []
      return taken
    },
    push(chunk: Uint8Array): void {
      if (failure !== undefined) throw failure
      const bytes = held === undefined ? chunk : joined(held, chunk)
      held = undefined
      // The parser looks for the two dashes of the closing boundary in one piece.
      const end = withoutDashes(bytes)
      if (end < bytes.length) held = bytes.subarray(end)
      write(bytes.subarray(0, end))
    },
    end(): void {
      if (held !== undefined) write(held)
      if (!done) parser.end()
      if (failure !== undefined) throw failure
      if (!done) throw cutShort()
    },
  }
}

/** Where the dashes at the end begin. Of more than a boundary can have, the first are a file's. */
function withoutDashes(bytes: Uint8Array): number {
  let end = bytes.length
  while (end > 0 && bytes.length - end < 256 && bytes[end - 1] === dash) end--
  return end
}

const ignore = (): void => {}

const cutShort = (): GatewayError =>
  new GatewayError('invalid_request', 'The multipart body ends before its closing boundary: it was cut short.')

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  const both = new Uint8Array(first.length + second.length)
  both.set(first)
  both.set(second, first.length)
  return both
}

interface Head {
  readonly name: string
  readonly filename?: string
  readonly lines: string
  readonly mediaType: string | undefined
}

function readHead({ headers }: PartInfo): Head | undefined {
  const { 'content-disposition': value, 'content-type': type } = headers
  const disposition = typeof value === 'string' ? readDisposition(value.trim()) : undefined
  if (disposition === undefined) return undefined
  // Where a header comes in two pieces, the parser leaves the blank before its value.
  const lines = Object.entries(headers)
    .flatMap(([name, values]) =>
      (Array.isArray(values) ? values : [values]).map((one) => `${titled(name)}: ${one.trim()}`),
    )
    .join('\r\n')
  return { ...disposition, lines, mediaType: typeof type === 'string' ? type.trim() : undefined }
}

const titled = (name: string): string => name.replace(/(^|-)[a-z]/g, (letters) => letters.toUpperCase())

function errorOf(error: MultipartError): GatewayError {
  switch (error._tag) {
    case 'InvalidBoundary':
      return new GatewayError('invalid_request', "The content type 'multipart/form-data' names no boundary.", {
        param: 'content-type',
      })
    case 'BadHeaders':
      return malformed("a part's header cannot be read")
    case 'InvalidDisposition':
      return malformed('a part has no name')
    case 'ReachedLimit':
      return new GatewayError('request_too_large', `The form has more than ${maxParts} parts.`)
    case 'EndNotReached':
      return cutShort()
    default:
      return malformed('it cannot be read')
  }
}

/** What a part says of itself in its Content-Disposition. */
export interface Disposition {
  readonly name: string
  readonly filename?: string
}

const known: ReadonlySet<string> = new Set(['', 'name', 'filename', 'filename*'])

/**
 * Reads `form-data; name="…"; filename="…"` as clients write it: UTF-8 as it is, quotes as `%22` (browsers) or `\"` (others),
 * `filename*` where there is one. Undefined for anything that is no form's part, and for what others could read otherwise:
 * the header goes on as it came, and a field must not become the model's name on the way.
 */
export function readDisposition(header: string): Disposition | undefined {
  const [type = ''] = header.split(';', 1)
  if (type.trim().toLowerCase() !== 'form-data') return undefined
  const found = new Map<string, string>()
  let at = type.length
  while (at < header.length) {
    const parameter = readParameter(header, at + 1)
    if (parameter === undefined) return undefined
    // Of two names, readers would pick different ones.
    if (found.has(parameter.key) || !known.has(parameter.key)) return undefined
    found.set(parameter.key, parameter.value)
    at = parameter.end
  }
  const name = found.get('name')
  // Some readers drop a backslash.
  if (name === undefined || name === '' || name.includes('\\')) return undefined
  const filename = extended(found.get('filename*')) ?? found.get('filename')
  return { name: percentQuotes(name), ...(filename === undefined ? {} : { filename: percentQuotes(filename) }) }
}

interface Parameter {
  readonly key: string
  readonly value: string
  /** Where the next semicolon stands. */
  readonly end: number
}

function readParameter(text: string, from: number): Parameter | undefined {
  const equals = text.indexOf('=', from)
  if (equals < 0) return text.slice(from).trim() === '' ? { key: '', value: '', end: text.length } : undefined
  const key = text.slice(from, equals).trim().toLowerCase()
  let at = equals + 1
  while (text[at] === ' ' || text[at] === '\t') at++
  if (text[at] !== '"') {
    const end = text.indexOf(';', at)
    const stop = end < 0 ? text.length : end
    const value = text.slice(at, stop).trim()
    return /["\s]/.test(value) ? undefined : { key, value, end: stop }
  }
  let value = ''
  for (at++; at < text.length && text[at] !== '"'; at++) {
    // A backslash escapes a quote and itself; before anything else it stands for itself (`C:\\file`, from old browsers).
    if (text[at] === '\\' && (text[at + 1] === '"' || text[at + 1] === '\\')) at++
    value += text[at]
  }
  if (at >= text.length) return undefined
  const end = text.indexOf(';', at)
  const stop = end < 0 ? text.length : end
  return text.slice(at + 1, stop).trim() === '' ? { key, value, end: stop } : undefined
}

/** RFC 8187: `UTF-8''na%C3%AFve.wav`. */
function extended(value: string | undefined): string | undefined {
  const parts = value?.split("'")
  if (parts?.length !== 3 || parts[0]?.toLowerCase() !== 'utf-8') return undefined
  try {
    return decodeURIComponent(parts[2] ?? '')
  } catch {
    return undefined
  }
}

const percentQuotes = (text: string): string =>
  text.includes('%') ? text.replaceAll('%22', '"').replaceAll('%0D', '\r').replaceAll('%0A', '\n') : text
