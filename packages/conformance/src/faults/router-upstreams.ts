import type { Behaviour } from './router-fixture.ts'

/** Waits; rejects like `fetch` if the caller aborts. */
export function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const arrive = (): void => {
      signal.removeEventListener('abort', leave)
      resolve()
    }
    const timer = Number.isFinite(ms) ? setTimeout(arrive, ms) : undefined
    if (signal.aborted) leave()
    else signal.addEventListener('abort', leave, { once: true })
  })
}

const chunk = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
const usageOf = (input: number, output: number): object => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
})

/** Returns the events of a chat stream with these words. */
export const eventsOf = (words: readonly string[], input = 3, output = words.length): string[] => [
  chunk({ role: 'assistant', content: '' }),
  ...words.map((content) => chunk({ content })),
  chunk({}, 'stop'),
  `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [], usage: usageOf(input, output) })}\n\n`,
  'data: [DONE]\n\n',
]

/** Step of a body: bytes, milliseconds of silence, a broken connection, or permanent silence. */
export type Step = string | Uint8Array | number | 'reset'

/** Creates a body that runs these steps as it is read. `done` is called when it has been read completely. */
export function bodyOf(steps: readonly Step[], signal: AbortSignal, done?: () => void): ReadableStream<Uint8Array> {
  const left = [...steps]
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        for (;;) {
          const step = left.shift()
          if (step === undefined) {
            if (!signal.aborted) done?.()
            return controller.close()
          }
          if (step === 'reset') return controller.error(connectionLost())
          if (typeof step === 'number') await wait(step, signal)
          else return controller.enqueue(typeof step === 'string' ? new TextEncoder().encode(step) : step)
        }
      },
    },
    { highWaterMark: 0 },
  )
}

export const forever = Number.POSITIVE_INFINITY

export const streaming =
  (steps: readonly Step[]): Behaviour =>
  ({ signal }) =>
    new Response(bodyOf(steps, signal), { headers: { 'content-type': 'text/event-stream' } })

export const respondWith =
  (body: string, headers: Record<string, string> = { 'content-type': 'application/json' }, status = 200): Behaviour =>
  () =>
    new Response(body, { status, headers })

export const completion = (text = 'hello', input = 3, output = 1): string =>
  JSON.stringify({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
    usage: usageOf(input, output),
  })

/** Returns a successful response, streamed if requested. */
export const succeed: Behaviour = (call) =>
  call.body.stream === true ? streaming(eventsOf(['hel', 'lo']))(call) : respondWith(completion())(call)

/** Returns an error status in the chat format. */
export const failWith =
  (status: number, headers: Record<string, string> = {}, error: object = {}): Behaviour =>
  () =>
    Response.json(
      { error: { message: `Failed with ${status}.`, type: null, param: null, code: null, ...error } },
      { status, headers },
    )

const connectionLost = (): TypeError =>
  new TypeError('fetch failed', { cause: Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }) })

export const refuseConnection: Behaviour = () => {
  throw new TypeError('fetch failed', {
    cause: Object.assign(new Error('connect ECONNREFUSED 10.1.2.3:443'), { code: 'ECONNREFUSED' }),
  })
}

/** Never responds. */
export const neverRespond: Behaviour = async ({ signal }) => {
  await wait(forever, signal)
  throw signal.reason
}

export const delayed =
  (ms: number, behaviour: Behaviour): Behaviour =>
  async (call) => {
    await wait(ms, call.signal)
    return behaviour(call)
  }

/** Uses one behaviour per call; the last one repeats. */
export const oneAfterAnother = (...behaviours: readonly Behaviour[]): Behaviour => {
  let at = 0
  return (call) => (behaviours[Math.min(at++, behaviours.length - 1)] as Behaviour)(call)
}
