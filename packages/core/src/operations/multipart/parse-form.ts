/*! Uploads are parsed with multipasta, (c) Tim Smart, MIT License: https://github.com/tim-smart/multipasta */
import { type MultipartError, make, type PartInfo } from 'multipasta'
import { GatewayError } from '../../base/errors.ts'
import type { Spool } from '../../http/spool.ts'
import type { FormPart } from './form.ts'

/** Maximum size of all fields of an upload together, without its files. */
const maxFieldBytes = 4 * 1024 * 1024
const maxParts = 256
const dash = 45

const malformed = (why: string): GatewayError =>
  new GatewayError('invalid_request', `The multipart body is malformed: ${why}.`)

/**
 * Reads an upload to its end: fields into memory, files into the spool, chunk by chunk. A chunk may end anywhere, also within a boundary or
 * a header.
 *
 * @throws GatewayError `invalid_request` for a truncated or malformed body, `request_too_large` for fields or parts beyond the limits, and
 * whatever the source throws
 */
export async function parseForm(
  source: AsyncIterable<Uint8Array>,
  contentType: string,
  spool: Spool,
): Promise<readonly FormPart[]> {
  const reader = createReader(contentType)
  const flushFiles = async (): Promise<void> => {
    for (const chunk of reader.takeFileBytes()) {
      const written = spool.write(chunk)
      if (written !== undefined) await written
    }
  }
  for await (const chunk of source) {
    reader.push(chunk)
    await flushFiles()
  }
  reader.end()
  await flushFiles()
  return reader.parts
}

/** Wraps the callbacks of multipasta: bytes in, parts out. Throws for a body that cannot be parsed. */
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
    // Bytes after the closing boundary are not part of the form.
    if (done) return ignore
    if (open) fail(malformed('a part has no end'))
    open = true
    const head = readHead(info)
    if (head === undefined) {
      fail(malformed('a part has no name, or an ambiguous one'))
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
      if (fieldSize > maxFieldBytes) {
        fail(
          new GatewayError('request_too_large', `${name}: the fields are larger than ${maxFieldBytes} bytes.`, {
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
    // All parts arrive in chunks, because the disposition decides here which ones are files.
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
    /** Returns the bytes of files since the last call. */
    takeFileBytes(): readonly Uint8Array[] {
      const bytes = fileBytes
      fileBytes = []
      return bytes
    },
    push(chunk: Uint8Array): void {
      if (failure !== undefined) throw failure
      const bytes = held === undefined ? chunk : joined(held, chunk)
      held = undefined
      // The parser expects the two dashes of the closing boundary in one chunk, so dashes at the end of a chunk are held back.
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

/** Returns the position of the dashes at the end, at most 256 of them. No boundary has more, so earlier dashes belong to a file. */
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
  // If a header arrives in two chunks, the parser leaves the space in front of its value.
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
      return new GatewayError('invalid_request', "The content type 'multipart/form-data' has no boundary.", {
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

/** Content-Disposition of a part. */
export interface Disposition {
  readonly name: string
  readonly filename?: string
}

/** Known parameters. All others are rejected. */
const knownParameters: ReadonlySet<string> = new Set(['', 'name', 'filename', 'filename*'])

/**
 * Parses `form-data; name="…"; filename="…"` in the notations of clients: raw UTF-8, quotes as `%22` (browsers) or `\"` (others), and
 * `filename*`. Returns undefined for other headers and for ambiguous ones. The header is forwarded unchanged, so an upstream must not read
 * another name in it, such as the model's.
 */
export function readDisposition(header: string): Disposition | undefined {
  const [type = ''] = header.split(';', 1)
  if (type.trim().toLowerCase() !== 'form-data') return undefined
  const found = new Map<string, string>()
  let at = type.length
  while (at < header.length) {
    const parameter = readParameter(header, at + 1)
    if (parameter === undefined) return undefined
    // With two names, readers could choose different ones.
    if (found.has(parameter.key) || !knownParameters.has(parameter.key)) return undefined
    found.set(parameter.key, parameter.value)
    at = parameter.end
  }
  const name = found.get('name')
  // Some readers drop a backslash.
  if (name === undefined || name === '' || name.includes('\\')) return undefined
  const filename = decodeExtended(found.get('filename*')) ?? found.get('filename')
  return { name: decodeQuotes(name), ...(filename === undefined ? {} : { filename: decodeQuotes(filename) }) }
}

interface Parameter {
  readonly key: string
  readonly value: string
  /** Position of the next semicolon. */
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
    // A backslash escapes a quote and itself. In front of anything else it is literal (`C:\\file`, from old browsers).
    if (text[at] === '\\' && (text[at + 1] === '"' || text[at + 1] === '\\')) at++
    value += text[at]
  }
  if (at >= text.length) return undefined
  const end = text.indexOf(';', at)
  const stop = end < 0 ? text.length : end
  return text.slice(at + 1, stop).trim() === '' ? { key, value, end: stop } : undefined
}

/** Decodes RFC 8187: `UTF-8''na%C3%AFve.wav`. */
function decodeExtended(value: string | undefined): string | undefined {
  const parts = value?.split("'")
  if (parts?.length !== 3 || parts[0]?.toLowerCase() !== 'utf-8') return undefined
  try {
    return decodeURIComponent(parts[2] ?? '')
  } catch {
    return undefined
  }
}

const decodeQuotes = (text: string): string =>
  text.includes('%') ? text.replaceAll('%22', '"').replaceAll('%0D', '\r').replaceAll('%0A', '\n') : text
