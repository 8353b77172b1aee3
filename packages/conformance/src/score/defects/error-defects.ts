import { objectOf } from '../../base/json.ts'
import { type Defect, onError } from './defect.ts'

const header =
  (name: string, value?: string) =>
  (answer: Response): Response => {
    const headers = new Headers(answer.headers)
    if (value === undefined) headers.delete(name)
    else headers.set(name, value)
    return new Response(answer.body, { status: answer.status, headers })
  }
/** Returns an error for the next call after a client aborted a stream. */
function brokenByLeaving(): NonNullable<Defect['replaceResponse']> {
  let broken = false
  return (answer) => {
    if (broken) {
      broken = false
      return Response.json({ error: { message: 'broken' } }, { status: 500 })
    }
    const streams = /event-stream/.test(answer.headers.get('content-type') ?? '')
    const reader = streams ? answer.body?.getReader() : undefined
    if (reader === undefined) return answer
    let over = false
    const body = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          const { done, value } = await reader.read().catch((error) => {
            // True if the client aborted the stream.
            broken = !over
            throw error
          })
          if (done) return controller.close()
          over ||= /\[DONE\]|message_stop|response\.completed|finishReason/.test(new TextDecoder().decode(value))
          controller.enqueue(value)
        },
        cancel(reason) {
          broken = !over
          return reader.cancel(reason)
        },
      },
      { highWaterMark: 0 },
    )
    return new Response(body, { status: answer.status, headers: answer.headers })
  }
}

/** Defects of error handling. */
export const errorDefects: readonly Defect[] = [
  {
    name: 'errors name no field or model',
    changeResponse: onError((value) => {
      const { code, status, type } = objectOf(objectOf(value).error)
      return {
        type: 'error',
        error: {
          message: 'Bad request.',
          param: null,
          code: code ?? null,
          ...(status === undefined ? {} : { status }),
          type: type ?? null,
        },
      }
    }),
    failed: [
      '*/unknown-model',
      'completions/unknown-model',
      'embeddings/unknown-model',
      '*/bad-value',
      '*/missing-field',
      '*/unknown-field',
    ],
  },
  {
    name: 'errors have another shape',
    changeResponse: onError((value) => ({ detail: JSON.stringify(value) })),
    failed: [
      'chat/unknown-model',
      'responses/unknown-model',
      'completions/unknown-model',
      'embeddings/unknown-model',
      'chat/bad-value',
      'responses/bad-value',
      '*/broken-JSON',
      '*/error-body',
    ],
  },
  {
    name: 'errors are HTML pages',
    replaceResponse: (answer) =>
      answer.ok
        ? answer
        : new Response('<html>error</html>', { status: answer.status, headers: { 'content-type': 'text/html' } }),
    failed: [
      '*/unknown-model',
      'completions/unknown-model',
      'embeddings/unknown-model',
      '*/bad-value',
      '*/missing-field',
      '*/unknown-field',
      '*/broken-JSON',
      '*/error-body',
    ],
  },
  {
    name: 'client errors are reported as server errors',
    replaceResponse: (answer) =>
      answer.ok ? answer : new Response(answer.body, { status: 500, headers: answer.headers }),
    failed: [
      '*/wrong-token',
      '*/unknown-model',
      'completions/unknown-model',
      'embeddings/unknown-model',
      '*/bad-value',
      '*/missing-field',
      '*/unknown-field',
      '*/broken-JSON',
      'gemini/error-body',
      'responses/previous-response',
      'models/one-for-OpenAI',
    ],
  },
  { name: 'a client disconnect breaks the next call', replaceResponse: brokenByLeaving(), failed: ['*/leaving'] },
  {
    name: 'responses have no request id',
    replaceResponse: (answer) => header('request-id')(header('x-request-id')(answer)),
    failed: ['*/request-id'],
  },
]
