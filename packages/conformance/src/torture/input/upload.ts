import { createHash, randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { UpstreamCall } from '../../base/raw-upstream.ts'
import { sendJson } from '../../base/upstream-responses.ts'
import type { Check, CheckContext, Target } from '../check.ts'
import { mb, tally } from '../measurements.ts'
import { chunked, headOf, type UploadStep, uploadSlowly } from './slow-upload.ts'
import { watchMemory } from './watch-process.ts'

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** The client's boundary; the files contain near matches. */
const boundary = 'torture-6f1c-boundary'

/** Files that are difficult for parsers of multipart bodies. */
const files = (): Readonly<Record<string, Uint8Array>> => {
  const all = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))
  const nearly = boundary.slice(0, -1)
  const lines = (line: string, count: number): Buffer => Buffer.from(line.repeat(count))
  return {
    'of no byte': Buffer.alloc(0),
    'of one NUL': Buffer.alloc(1),
    'of NULs': Buffer.alloc(1_000_000),
    'of every byte': Buffer.concat(Array.from({ length: 300 }, () => all)),
    'of line ends': lines('\r\n', 5000),
    'of bare returns': lines('\r', 5000),
    'of dashes': lines('-', 300_000),
    'of line ends with dashes': lines('\r\n--', 20_000),
    'of nearly boundaries': lines(`\r\n--${nearly}`, 5000),
    'of nearly boundaries with NULs': lines(`\r\n--${nearly}\0`, 5000),
    // At the start of the file it would be a real boundary, because the header's end is its line end.
    'of boundaries without their line end': lines(`x--${boundary}`, 5000),
    'of boundaries behind a line feed': lines(`\n--${boundary}\n`, 5000),
    'of another form': lines(
      `--other\r\ncontent-disposition: form-data; name="model"\r\n\r\nelse\r\n--other--\r\n`,
      100,
    ),
    'that ends in a return': Buffer.from('RIFF\r'),
    'that ends in a line end': Buffer.from('RIFF\r\n'),
    'that ends in half a boundary': Buffer.from(`RIFF\r\n--${boundary.slice(0, 5)}`),
    'of random bytes': randomBytes(3_000_000),
  }
}

/** Difficult file names, as written between quotes. */
const filenames: readonly string[] = [
  'a.wav',
  '../../etc/passwd',
  'q%22q.wav',
  'ü €.wav',
  'a;name=model.wav',
  `${'x'.repeat(200)}.wav`,
]

/** Endpoints with a file field. */
const places = [
  { path: '/v1/audio/transcriptions', field: 'file', more: [], answer: { text: 'one two three' } },
  {
    path: '/v1/images/edits',
    field: 'image[]',
    more: [['prompt', 'a cat']],
    answer: { created: 1, data: [{ b64_json: 'AA==' }] },
  },
] as const
type Place = (typeof places)[number]

/** Files (by digest) and fields that reached the upstream. */
interface Arrived {
  readonly digests: readonly string[]
  readonly sizes: readonly number[]
  readonly filenames: readonly string[]
  readonly fields: readonly string[]
}

/** Parses the upload with the runtime's own parser, not the gateway's. */
async function readUpload(incoming: IncomingMessage): Promise<Arrived> {
  const parts: Buffer[] = []
  for await (const part of incoming) parts.push(part as Buffer)
  const type = incoming.headers['content-type'] ?? ''
  const form = await new Response(Buffer.concat(parts), { headers: { 'content-type': type } }).formData()
  const digests: string[] = []
  const sizes: number[] = []
  const names: string[] = []
  const fields: string[] = []
  for (const [name, value] of form.entries())
    if (typeof value === 'string') fields.push(`${name}=${value}`)
    else {
      const bytes = new Uint8Array(await value.arrayBuffer())
      digests.push(sha256(bytes))
      sizes.push(bytes.length)
      names.push(value.name)
    }
  return { digests, sizes, filenames: names, fields }
}

const fieldPart = (name: string, value: string): string =>
  `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`

function opening(target: Target, { field, more }: Place, filename: string): Buffer {
  const fields = [['model', target.model('chat')], ...more].map(([name = '', value = '']) => fieldPart(name, value))
  return Buffer.from(
    `${fields.join('')}--${boundary}\r\ncontent-disposition: form-data; name="${field}"; filename="${filename}"\r\n` +
      'content-type: application/octet-stream\r\n\r\n',
  )
}
const closing = Buffer.from(`\r\n--${boundary}--\r\n`)
const type = `multipart/form-data; boundary=${boundary}`

/** Ways to split a body: with its length, in chunks, and byte by byte unless that would take too long. */
const manners: Readonly<
  Record<string, (body: Buffer) => { headers: Record<string, string>; steps: Iterable<UploadStep> } | undefined>
> = {
  'with its length': (body) => ({ headers: { 'content-length': String(body.length) }, steps: [body] }),
  'in odd chunks': (body) => ({
    headers: { 'transfer-encoding': 'chunked' },
    steps: [...chunked(cut(body, body.length > 100_000 ? 64_997 : 97)), '0\r\n\r\n'],
  }),
  'byte by byte': (body) =>
    body.length > 1500 ? undefined : { headers: { 'content-length': String(body.length) }, steps: cut(body, 1) },
}

function* cut(body: Buffer, size: number): Generator<Buffer> {
  for (let at = 0; at < body.length; at += size) yield body.subarray(at, at + size)
}

/** Sends one upload and returns the defect in what arrived. */
async function upload(
  { target, upstream }: CheckContext,
  place: Place,
  filename: string,
  file: Uint8Array,
  manner: string,
): Promise<string | undefined> {
  const body = Buffer.concat([opening(target, place, filename), file, closing])
  const way = manners[manner]?.(body)
  if (way === undefined) return undefined
  let arrived: Arrived | undefined
  const end = upstream.playAt(place.path, async (call: UpstreamCall, incoming) => {
    arrived = await readUpload(incoming)
    sendJson(call, 200, place.answer)
  })
  const head = headOf(target, place.path, { 'content-type': type, connection: 'close', ...way.headers })
  const { status } = await uploadSlowly(target, [head, ...way.steps], 10_000)
  end()
  if (status !== 200) return `returned ${status === 0 ? 'nothing' : status}`
  if (arrived === undefined) return 'status 200, but nothing arrived'
  const { digests, sizes, fields, filenames: names } = arrived
  if (digests.length !== 1) return `${digests.length} files arrived`
  if (digests[0] !== sha256(file)) return `another file arrived: ${sizes[0]} bytes of ${file.length}`
  if (fields.length !== 1 + place.more.length) return `other fields arrived: ${fields.join(', ').slice(0, 100)}`
  // A quote can be written in two ways; the runtime's parser supports one of them.
  const plain = filename.replace('%22', '"')
  return names[0] === plain || names[0] === filename ? undefined : `the file name became ${names[0]}`
}

/** Sends a file larger than the gateway may buffer. */
async function large({ target, upstream }: CheckContext, bytes: number) {
  const piece = randomBytes(64 * 1024)
  const count = Math.ceil(bytes / piece.length)
  const wanted = createHash('sha256')
  for (let sent = 0; sent < count; sent++) wanted.update(piece)
  const [place] = places
  const open = opening(target, place, 'a.wav')
  const size = open.length + count * piece.length + closing.length
  let arrived: Arrived | undefined
  const end = upstream.playAt(place.path, async (call, incoming) => {
    arrived = await readUpload(incoming)
    sendJson(call, 200, place.answer)
  })
  function* steps(): Generator<UploadStep> {
    yield headOf(target, place.path, { 'content-type': type, connection: 'close', 'content-length': String(size) })
    yield open
    for (let sent = 0; sent < count; sent++) yield piece
    yield closing
  }
  await target.local?.stats()
  const grown = watchMemory(target.pid)
  const begun = performance.now()
  const { status } = await uploadSlowly(target, steps(), 60_000)
  const seconds = (performance.now() - begun) / 1000
  const grownBytes = grown()
  end()
  const digest = wanted.digest('hex')
  const wrong =
    status !== 200
      ? `returned ${status === 0 ? 'nothing' : status}`
      : arrived?.digests[0] === digest
        ? undefined
        : `another file arrived: ${arrived?.sizes[0]} bytes of ${count * piece.length}`
  return { wrong, grownBytes, seconds, size }
}

/** Allowed growth of the process while a large file passes through. */
const room = 50_000_000

/** Difficult files through two endpoints with every split, and one that is too large to buffer. */
export const uploads: Check = {
  row: 34,
  group: 'Input',
  title: 'Multipart',
  promise: 'file SHA-256 equal at the upstream; boundary-like bytes, 0x00; streamed (RSS < 50 MB for 100 MB)',
  perServer: true,
  async run(setting) {
    const complaints: string[] = []
    let total = 0
    const note = (what: string, complaint: string | undefined): void => {
      total++
      if (complaint !== undefined) complaints.push(`${what}: ${complaint}`)
    }
    for (const place of places) {
      for (const [name, file] of Object.entries(files()))
        for (const manner of Object.keys(manners)) {
          if (manners[manner]?.(Buffer.concat([opening(setting.target, place, 'a.wav'), file, closing])) === undefined)
            continue
          note(`${place.path}, a file ${name}, ${manner}`, await upload(setting, place, 'a.wav', file, manner))
        }
      for (const filename of filenames)
        note(
          `${place.path}, ${filename.slice(0, 30)}`,
          await upload(setting, place, filename, Buffer.from('RIFF\0'), 'in odd chunks'),
        )
    }
    const equal = total - complaints.length
    const runs = setting.count(3, 1)
    let grown: number | undefined
    let last: Awaited<ReturnType<typeof large>> | undefined
    for (let round = 0; round < runs; round++) {
      last = await large(setting, setting.count(100_000_000, 60_000_000))
      if (last.wrong !== undefined) complaints.push(`${mb(last.size)}: ${last.wrong}`)
      if (last.grownBytes !== undefined) grown = Math.max(grown ?? 0, last.grownBytes)
    }
    if (grown !== undefined && grown >= room) complaints.push(`memory grew by ${mb(grown)}`)
    return {
      held: complaints.length === 0,
      figure:
        `${equal}/${total} files equal at the upstream; ${mb(last?.size ?? 0)} ${last?.wrong ?? 'equal'} in ${last?.seconds.toFixed(1)} s, ` +
        `RSS ${grown === undefined ? 'unknown' : `+ ${mb(grown)}`}`,
      notes: tally(complaints),
    }
  },
}
