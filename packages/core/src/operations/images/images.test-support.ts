import type { GatewayConfig } from '../../config/config.ts'
import { setUp } from '../../gateway/create-gateway.test-support.ts'

export const made = {
  created: 1,
  data: [{ b64_json: 'aW1n' }],
  usage: {
    total_tokens: 100,
    input_tokens: 50,
    output_tokens: 50,
    input_tokens_details: { text_tokens: 10, image_tokens: 40 },
  },
}
export const png = { inlineData: { mimeType: 'image/png', data: 'aW1n' } }
export const drawn = (parts: unknown[] = [png], more: object = {}) => ({
  candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', ...more }],
  usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 1290, totalTokenCount: 1295 },
})
const models = {
  models: {
    real: 'a',
    alias: { upstream: 'a', model: 'real' },
    both: ['a', 'b'],
    'gemini*': 'g',
    'imagen*': 'g',
    'claude*': 'm',
  },
} as never
export const set = (answers: Parameters<typeof setUp>[0], more: Partial<GatewayConfig> = {}) =>
  setUp(answers, { ...(models as Partial<GatewayConfig>), ...more })

export const partial = (index: number) =>
  `event: image_generation.partial_image\ndata: {"type":"image_generation.partial_image","b64_json":"aa","partial_image_index":${index}}\n\n`
export const completed = `event: image_generation.completed\ndata: ${JSON.stringify({ type: 'image_generation.completed', b64_json: 'aW1n', usage: made.usage })}\n\n`

export function form(fields: readonly (readonly [string, string | File])[]): FormData {
  const data = new FormData()
  for (const [name, value] of fields) data.append(name, value)
  return data
}
export const picture = (name = 'a.png') =>
  new File([new Uint8Array([137, 80, 78, 71, 0, 13, 10, 45, 45])], name, { type: 'image/png' })
export const upload = (
  gateway: ReturnType<typeof setUp>['gateway'],
  path: string,
  body: BodyInit,
  headers: Record<string, string> = {},
) => gateway.fetch(`http://gw${path}`, { method: 'POST', body, headers: { authorization: 'Bearer good', ...headers } })
