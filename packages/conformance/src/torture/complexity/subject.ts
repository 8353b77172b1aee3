import type { Answer, Case, Prepared } from './cases.ts'
import { attackedGateway } from './targets.ts'

/** Size of the chunks of a response, as from a socket. */
const chunkBytes = 64 * 1024

const encoder = new TextEncoder()

function bodyOf({ body }: Answer): ReadableStream<Uint8Array> {
  const bytes = typeof body === 'string' ? encoder.encode(body) : body
  let at = 0
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (at >= bytes.length) return controller.close()
        controller.enqueue(bytes.subarray(at, at + chunkBytes))
        at += chunkBytes
      },
    },
    { highWaterMark: 0 },
  )
}

/** Outcome of a call. */
export interface Outcome {
  readonly status: number
  /** Beginning of the client's response. */
  readonly responseStart: string
  /** CPU milliseconds of the process. */
  readonly cpuMs: number
}

/** Calls a gateway in this process, with an in-process upstream, and measures the cost. */
export function createSubject(): (one: Case, prepared: Prepared) => Promise<Outcome> {
  let answer: Prepared['answer'] = () => {
    throw new Error('no response is prepared')
  }
  const upstream: typeof fetch = async (input, init) => {
    // Uploads and long bodies are streamed and must be consumed.
    if (init?.body instanceof ReadableStream) for await (const _ of init.body) void _
    const answered = answer(new URL(String(input)).pathname)
    return new Response(bodyOf(answered), { status: answered.status, headers: { 'content-type': answered.type } })
  }
  const plain = attackedGateway(upstream, false)
  const withMedia = attackedGateway(upstream, true)
  return async (one, prepared) => {
    answer = prepared.answer
    const gateway = one.withMedia ? withMedia : plain
    const request = new Request(`http://gateway.test${prepared.path}`, {
      method: 'POST',
      headers: prepared.headers,
      body: encoder.encode(prepared.body),
    })
    const before = process.cpuUsage()
    const response = await gateway.fetch(request)
    let text = ''
    if (response.body !== null) {
      const reader = response.body.getReader()
      for (let read = await reader.read(); !read.done; read = await reader.read())
        if (text.length < 200) text += new TextDecoder().decode(read.value.subarray(0, 300))
    }
    const { user, system } = process.cpuUsage(before)
    return { status: response.status, responseStart: text.slice(0, 300), cpuMs: (user + system) / 1000 }
  }
}
