import type { JsonObject } from '../../base/json/json.ts'
import type { Loss, ModelRequest, Part, Turn } from '../ir.ts'
import { messagesCodec } from './index.ts'
import { contextFor, target } from './recorded.test-support.ts'

export const decode = (body: JsonObject): ModelRequest =>
  messagesCodec.decodeRequest(structuredClone(body), contextFor())

/** Encodes a plain request with the given fields for a model. */
export function encode(
  request: Partial<ModelRequest>,
  model = 'claude-sonnet-4-5',
  quirks = {},
): { out: JsonObject; losses: readonly Loss[] } {
  const context = contextFor()
  const whole: ModelRequest = {
    model: 'alias',
    turns: [user('Hi')],
    stream: false,
    sampling: { maxTokens: 100 },
    ...request,
  }
  const out = messagesCodec.encodeRequest(whole, { ...context, target: target(model, quirks) })
  return { out, losses: context.report.losses }
}
/** Formats losses as lines of path, kind and severity. */
export const lossTexts = (losses: readonly Loss[]): string[] =>
  losses.map(({ path, kind, severity }) => `${path} ${kind} ${severity}`)

export const text = (value: string, at?: string): Part => ({
  type: 'text',
  text: value,
  ...(at !== undefined && { at }),
})
export const user = (...parts: (Part | string)[]): Turn => turn('user', parts)
export const assistant = (...parts: (Part | string)[]): Turn => turn('assistant', parts)
export const system = (...parts: (Part | string)[]): Turn => turn('system', parts)
export const turn = (role: Turn['role'], parts: (Part | string)[]): Turn => ({
  role,
  parts: parts.map((part) => (typeof part === 'string' ? text(part) : part)),
})
