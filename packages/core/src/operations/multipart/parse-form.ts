/*! Uploads are parsed with multipasta, (c) Tim Smart, MIT License: https://github.com/tim-smart/multipasta */
import { type MultipartError, make, type PartInfo } from 'multipasta'
import { GatewayError } from '../../base/errors.ts'
import type { Spool } from '../../http/spool.ts'
import { readDisposition } from './disposition.ts'
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
