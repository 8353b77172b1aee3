import { setUp } from '../../gateway/create-gateway.test-support.ts'

const models = {
  models: { real: 'a', alias: { upstream: 'a', model: 'real' }, both: ['a', 'b'], 'gemini*': 'g', 'claude*': 'm' },
} as never
export const set = (answers: Parameters<typeof setUp>[0], more: object = {}) =>
  setUp(answers, { ...(models as object), ...more } as never)

export const recording = () => new File([new Uint8Array([82, 73, 70, 70])], 'a.wav', { type: 'audio/wav' })
export function upload(
  gateway: ReturnType<typeof setUp>['gateway'],
  fields: readonly (readonly [string, string | File])[],
  path = '/v1/audio/transcriptions',
  init: RequestInit = {},
) {
  const body = new FormData()
  for (const [name, value] of fields) body.append(name, value)
  return gateway.fetch(`http://gw${path}`, { method: 'POST', body, headers: { authorization: 'Bearer good' }, ...init })
}
export const asBytes =
  (parts: readonly (string | Uint8Array)[], type: string, failing = false) =>
  () => {
    const left = [...parts]
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        const next = left.shift()
        if (next !== undefined) controller.enqueue(typeof next === 'string' ? new TextEncoder().encode(next) : next)
        else if (failing) controller.error(new TypeError('terminated'))
        else controller.close()
      },
    })
    return new Response(body, { headers: type === '' ? {} : { 'content-type': type } })
  }
export const audioResponse = (text: string | undefined, finishReason = 'STOP') => ({
  candidates: [{ content: { role: 'model', parts: text === undefined ? [] : [{ text }] }, finishReason }],
  usageMetadata: {
    promptTokenCount: 30,
    candidatesTokenCount: 5,
    totalTokenCount: 35,
    promptTokensDetails: [{ modality: 'AUDIO', tokenCount: 20 }],
  },
})
